// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// A door's messages about its clients, for the journal: a program that is refused without end must not fill it.
package final class LimitedReport: Sendable {
    private struct State {
        /// The start of the current minute.
        var start = ContinuousClock.now
        var count = 0
    }

    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// The most messages a minute.
    package static let most = 20

    package init(_ report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// Passes a message on; of those beyond ``most`` in a minute only the number, before the next message.
    package func note(_ text: String, at now: ContinuousClock.Instant = .now) {
        let (leftOut, isWanted) = state.withLock { state in
            var leftOut = 0
            if now - state.start >= .seconds(60) {
                leftOut = state.count - LimitedReport.most
                state = State(start: now)
            }
            state.count += 1
            return (leftOut, state.count <= LimitedReport.most)
        }
        if leftOut > 0 { report("\(leftOut) more messages were left out") }
        if isWanted { report(text) }
    }
}

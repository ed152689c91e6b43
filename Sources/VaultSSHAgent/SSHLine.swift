// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import VaultDoorKit

extension SSHClock {
    static let system = SSHClock(
        now: { .now }, seconds: { UInt64(max(0, Date.now.timeIntervalSince1970)) },
        wait: { end in
            let left = ContinuousClock.now.duration(to: end)
            if left > .zero { usleep(useconds_t(clamping: Int64(left / .microseconds(1)))) }
        })
}

/// A client's connection, as a question to the user sees it.
final class SSHLine: Sendable {
    private struct State {
        var hasEnded = false
        /// The question that is being asked.
        var question: PromptStop?
    }

    private let state = Mutex(State())

    /// Notes that the client has disconnected, and cancels its question.
    func end() {
        let question = state.withLock { state in
            state.hasEnded = true
            return state.question
        }
        question?.stop()
    }

    /// Runs a question to the user, and cancels it when the client disconnects.
    ///
    /// - Returns: the result; `nil` if no descriptors are available.
    func watched<R>(_ body: (PromptStop) -> R) -> R? {
        guard let stop = PromptStop() else { return nil }
        let hasEnded = state.withLock { state in
            state.question = stop
            return state.hasEnded
        }
        if hasEnded { stop.stop() }
        defer { state.withLock { $0.question = nil } }
        return body(stop)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// A handle by which another thread ends a call that waits for the agent: for a person's answer, or for questions.
package final class AgentCall: Sendable {
    private struct State {
        var line: AgentConnection.Line?
        var isEnded = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends the call with `.agent(.gone)`, now or as soon as it begins.
    package func end() {
        let line = state.withLock { state in
            state.isEnded = true
            return state.line.take()
        }
        line?.hangUp()
    }

    package var isEnded: Bool { state.withLock(\.isEnded) }

    /// - Returns: `false` if the call was ended before it began.
    func begin(_ line: AgentConnection.Line) -> Bool {
        state.withLock { state in
            if !state.isEnded { state.line = line }
            return !state.isEnded
        }
    }
}

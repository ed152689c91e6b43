// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// One prompt at a time, however many ask: the client that has the turn asks a person, and the others wait until that
/// came to something.
final class Turns: Sendable {
    private struct State {
        var holder: ObjectIdentifier?
        var waiting: [(ObjectIdentifier, @Sendable () -> Void)] = []
    }

    private let state = Mutex(State())
    private let isNeeded: @Sendable () -> Bool
    /// The most that wait; a connection that waits is one that others cannot have.
    private static let mostWaiting = AgentServer.mostClients / 2

    /// - Parameter isNeeded: whether there is anything to ask for.
    init(isNeeded: @escaping @Sendable () -> Bool) { self.isNeeded = isNeeded }

    /// Calls `begin` when the client has the turn, or when nobody needs one any more.
    ///
    /// - Returns: false when too many wait already.
    func wait(_ client: ObjectIdentifier, _ begin: @escaping @Sendable () -> Void) -> Bool {
        let isNeeded = isNeeded()
        let isNow: Bool? = state.withLock { state in
            if !isNeeded { return true }
            guard state.holder == nil || state.holder == client else {
                guard state.waiting.count < Turns.mostWaiting else { return nil }
                state.waiting.append((client, begin))
                return false
            }
            state.holder = client
            return true
        }
        if isNow == true { begin() }
        return isNow != nil
    }

    /// The vault was unlocked: nobody has to ask.
    func end() {
        let waiting = state.withLock { state in
            defer { state = State() }
            return state.waiting
        }
        for (_, begin) in waiting { begin() }
    }

    /// The client is gone, or has had its turn for long enough; the next one's has come if it was this one's.
    func leave(_ client: ObjectIdentifier) {
        let next: (@Sendable () -> Void)? = state.withLock { state in
            state.waiting.removeAll { $0.0 == client }
            guard state.holder == client else { return nil }
            state.holder = nil
            guard !state.waiting.isEmpty else { return nil }
            let (next, begin) = state.waiting.removeFirst()
            state.holder = next
            return begin
        }
        next?()
    }
}

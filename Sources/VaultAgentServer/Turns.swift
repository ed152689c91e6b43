// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// One prompt at a time, however many ask: the client that has the turn asks a person, and the others wait until that
/// came to something.
final class Turns: Sendable {
    private struct State {
        var holder: Waiting?
        var waiting: [Waiting] = []
    }

    private struct Waiting {
        let client: ObjectIdentifier
        /// Whether it wants nothing once the vault is unlocked.
        let isForUnlocking: Bool
        let begin: @Sendable () -> Void
    }

    private let state = Mutex(State())
    private let isNeeded: @Sendable () -> Bool
    /// The most that wait; a connection that waits is one that others cannot have.
    private static let mostWaiting = AgentServer.mostClients / 2

    /// - Parameter isNeeded: whether there is anything to ask for.
    init(isNeeded: @escaping @Sendable () -> Bool) { self.isNeeded = isNeeded }

    /// Calls `begin` when the client has the turn, or, for one that wants the vault unlocked, when nobody needs that
    /// any more.
    ///
    /// - Returns: false when too many wait already.
    func wait(
        _ client: ObjectIdentifier, isForUnlocking: Bool = true, _ begin: @escaping @Sendable () -> Void
    ) -> Bool {
        let isNeeded = !isForUnlocking || isNeeded()
        let own = Waiting(client: client, isForUnlocking: isForUnlocking, begin: begin)
        let isNow: Bool? = state.withLock { state in
            if !isNeeded { return true }
            guard state.holder == nil || state.holder?.client == client else {
                guard state.waiting.count < Turns.mostWaiting else { return nil }
                state.waiting.append(own)
                return false
            }
            state.holder = own
            return true
        }
        if isNow == true { begin() }
        return isNow != nil
    }

    /// The vault was unlocked: nobody has to ask for that.
    func end() {
        let begun = state.withLock { state in
            var begun = state.waiting.filter(\.isForUnlocking)
            state.waiting.removeAll(where: \.isForUnlocking)
            if state.holder?.isForUnlocking == true { begun += Turns.pass(on: &state) }
            return begun
        }
        for next in begun { next.begin() }
    }

    /// The client is gone, or has had its turn for long enough; the next one's has come if it was this one's.
    func leave(_ client: ObjectIdentifier) {
        let next = state.withLock { state in
            state.waiting.removeAll { $0.client == client }
            return state.holder?.client == client ? Turns.pass(on: &state) : []
        }
        for next in next { next.begin() }
    }

    /// The one whose turn it is now; none: nobody waits.
    private static func pass(on state: inout State) -> [Waiting] {
        state.holder = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        return state.holder.map { [$0] } ?? []
    }
}

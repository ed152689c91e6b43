// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The turns of prompts: one client at a time asks a person, and the others wait for the result. A process with many
/// connections does not exclude others: its turns come after those of the others, and it gives up waiting places that
/// others need.
final class Turns: Sendable {
    private struct State {
        var holder: Waiting?
        var waiting: [Waiting] = []
    }

    /// A client that waits for a turn.
    struct Waiting: Sendable {
        let client: Int
        let process: Int32
        /// Whether the turn is unnecessary once the vault is unlocked.
        var isForUnlocking = true
        /// Called when the turn begins.
        let begin: @Sendable () -> Void
        /// Called when there is no waiting place, or no longer one.
        let refuse: @Sendable () -> Void
    }

    private let state = Mutex(State())
    private let isNeeded: @Sendable () -> Bool
    /// The most waiting clients; each occupies a connection.
    static let mostWaiting = AgentServer.mostClients / 2

    /// - Parameter isNeeded: whether the vault has to be unlocked.
    init(isNeeded: @escaping @Sendable () -> Bool) { self.isNeeded = isNeeded }

    /// Calls `begin` when the client has the turn, or when the vault is unlocked and the client only wanted that.
    func wait(_ new: Waiting) {
        let isNeeded = !new.isForUnlocking || isNeeded()
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            if !isNeeded { return new.begin }
            guard state.holder == nil || state.holder?.client == new.client else {
                state.waiting.append(new)
                guard state.waiting.count > Turns.mostWaiting else { return nil }
                return Turns.removeOne(from: &state.waiting).refuse
            }
            state.holder = new
            return new.begin
        }
        next?()
    }

    /// Removes the newest client of the process that has the most.
    private static func removeOne(from waiting: inout [Waiting]) -> Waiting {
        let counts = waiting.reduce(into: [Int32: Int]()) { $0[$1.process, default: 0] += 1 }
        let most = counts.values.max()
        let index = waiting.lastIndex { counts[$0.process] == most } ?? waiting.index(before: waiting.endIndex)
        return waiting.remove(at: index)
    }

    /// Begins all turns for unlocking, since the vault is unlocked.
    func end() {
        let begun = state.withLock { state in
            var begun = state.waiting.filter(\.isForUnlocking)
            state.waiting.removeAll(where: \.isForUnlocking)
            if state.holder?.isForUnlocking == true { begun += Turns.pass(on: &state) }
            return begun
        }
        for next in begun { next.begin() }
    }

    /// Ends the turn or the wait of a client that has gone or has exceeded its time. The next client's turn may begin.
    func leave(_ client: Int) {
        let next = state.withLock { state in
            state.waiting.removeAll { $0.client == client }
            return state.holder?.client == client ? Turns.pass(on: &state) : []
        }
        for next in next { next.begin() }
    }

    /// Returns the client whose turn begins now, if any.
    private static func pass(on state: inout State) -> [Waiting] {
        let former = state.holder?.process
        // After those of all other processes, in the order of arrival.
        state.waiting = state.waiting.filter { $0.process != former } + state.waiting.filter { $0.process == former }
        state.holder = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        return state.holder.map { [$0] } ?? []
    }
}

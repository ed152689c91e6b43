// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// One prompt at a time, however many ask: the client that has the turn asks a person, and the others wait until that
/// came to something. A process that asks on many connections keeps no other process from its turn: after one of its
/// own come those of the others, and of the places to wait at it gives up those that others need.
final class Turns: Sendable {
    private struct State {
        var holder: Waiting?
        var waiting: [Waiting] = []
    }

    /// A client that wants a turn.
    struct Waiting: Sendable {
        let client: ObjectIdentifier
        let process: Int32
        /// Whether it wants nothing once the vault is unlocked.
        var isForUnlocking = true
        /// Its turn has come.
        let begin: @Sendable () -> Void
        /// It has no place to wait at, or none any more.
        let refuse: @Sendable () -> Void
    }

    private let state = Mutex(State())
    private let isNeeded: @Sendable () -> Bool
    /// The most that wait; a connection that waits is one that others cannot have.
    static let mostWaiting = AgentServer.mostClients / 2

    /// - Parameter isNeeded: whether there is anything to ask for.
    init(isNeeded: @escaping @Sendable () -> Bool) { self.isNeeded = isNeeded }

    /// Begins when the client has the turn, or, for one that wants the vault unlocked, when nobody needs that any more.
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

    /// The newest of the process that has most.
    private static func removeOne(from waiting: inout [Waiting]) -> Waiting {
        let counts = waiting.reduce(into: [Int32: Int]()) { $0[$1.process, default: 0] += 1 }
        let most = counts.values.max()
        let index = waiting.lastIndex { counts[$0.process] == most } ?? waiting.index(before: waiting.endIndex)
        return waiting.remove(at: index)
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
        let former = state.holder?.process
        // Behind those of all others, in the order in which they came.
        state.waiting = state.waiting.filter { $0.process != former } + state.waiting.filter { $0.process == former }
        state.holder = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        return state.holder.map { [$0] } ?? []
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The calls in progress, and those that wait for their turn or for the user.
struct CallTurns {
    /// The number of calls being answered, without those that wait for the user.
    private(set) var underWay = 0
    /// The number of calls that gather secrets of many items, and the calls that wait for their turn.
    private var gathering: (count: Int, waiting: [CheckedContinuation<Void, Never>]) = (0, [])
    /// The number of searches of each program that wait for the user.
    private var searching: [ServiceProgram: Int] = [:]

    /// The maximum number of calls answered at the same time: each keeps its message, which may have 16 MiB.
    static let mostCalls = 64
    /// The maximum number of calls that gather secrets of many items at the same time: each may have 60 MiB of them.
    private static let mostGatherings = 2
    /// The maximum number of searches that wait for the user, of one program and of all.
    private static let mostSearches = (ofOne: 256, ofAll: 1024)

    /// Whether another call may begin.
    var hasRoom: Bool { underWay < CallTurns.mostCalls }

    mutating func begin() { underWay += 1 }

    mutating func end() { underWay -= 1 }

    /// - Returns: `false` if the call must wait: see ``wait(_:)``.
    mutating func beginGathering() -> Bool {
        guard gathering.count < CallTurns.mostGatherings else { return false }
        gathering.count += 1
        return true
    }

    /// Keeps a call that is resumed when its turn comes.
    mutating func wait(_ call: CheckedContinuation<Void, Never>) { gathering.waiting.append(call) }

    /// Passes the turn of a call that ends on.
    mutating func endGathering() {
        if gathering.waiting.isEmpty { gathering.count -= 1 } else { gathering.waiting.removeFirst().resume() }
    }

    /// Returns the program whose oldest search has to give way to another search; `nil` if there is room.
    ///
    /// - Throws: `.tooMany`.
    func programToGiveWay(to program: ServiceProgram) throws(ServiceRefusal) -> ServiceProgram? {
        let own = searching[program, default: 0]
        guard own < CallTurns.mostSearches.ofOne else { throw CallTurns.tooMany }
        guard searching.values.reduce(0, +) >= CallTurns.mostSearches.ofAll else { return nil }
        guard let most = searching.max(by: { $0.value < $1.value }), most.value > own else { throw CallTurns.tooMany }
        return most.key
    }

    static let tooMany = ServiceRefusal.tooMany("too much waits already")

    mutating func beginSearch(of program: ServiceProgram) {
        searching[program, default: 0] += 1
        underWay -= 1
    }

    mutating func endSearch(of program: ServiceProgram) {
        underWay += 1
        let rest = (searching[program] ?? 1) - 1
        searching[program] = rest > 0 ? rest : nil
    }
}

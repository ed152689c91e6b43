// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing
import VaultDoorKit
import VaultLoop

/// A connection with chosen properties.
private final class Holder: PlaceHolder {
    let name: String
    let claim: PlaceClaim
    let use: Places.Use
    let lastUse: SuspendingClock.Instant

    /// - Parameter second: of the last use, which decides among equals.
    init(
        _ name: String, of process: Int32, _ use: Places.Use = .idle, at second: Int = 0, age: Duration = .seconds(9)
    ) {
        self.name = name
        claim = PlaceClaim(process, since: .now - age)
        self.use = use
        lastUse = SuspendingClock.now + .seconds(second)
    }
}

/// Connections, and the units of their processes.
private struct Crowd {
    var holders: [Holder] = []
    var most = 8
    var units: [Int32: String] = [:]
    /// The times since the start of processes; an hour for others.
    var ages: [Int32: Duration] = [:]

    func places(share: Int? = nil) -> Places {
        let (units, ages) = (units, ages)
        return Places(
            most: most, share: share,
            Places.Processes(age: { ages[$0] ?? .seconds(3600) }, unit: { units[$0] }))
    }

    /// Returns the name of the connection that gives way to a new one.
    func yielding(to new: Holder, share: Int? = nil) -> String {
        // In any order.
        let all = (holders + [new]).shuffled()
        return places(share: share).yielding(to: new, among: all).name
    }

    mutating func add(_ count: Int, of process: Int32, _ use: Places.Use = .idle) {
        for number in 0..<count { holders.append(Holder("\(process).\(number)", of: process, use, at: number)) }
    }
}

struct PlacesTests {
    @Test func `a process that has every place gives up its oldest idle connection to another`() {
        var crowd = Crowd()
        crowd.add(8, of: 1)
        #expect(crowd.yielding(to: Holder("new", of: 2)) == "1.0")
    }

    @Test func `a process beyond its share loses its own connection, and no other's`() {
        var crowd = Crowd()
        crowd.add(5, of: 1)
        crowd.add(3, of: 2, .none)
        #expect(crowd.yielding(to: Holder("new", of: 1)) == "1.0")
    }

    @Test func `a process beyond its share whose connections are all at work is turned away`() {
        var crowd = Crowd()
        crowd.add(5, of: 1, .busy)
        crowd.add(3, of: 2)
        #expect(crowd.yielding(to: Holder("new", of: 1)) == "new")
    }

    @Test(arguments: [Places.Use.none, .idle, .held, .busy])
    func `a process within its share loses nothing to one beyond, whatever the use`(use: Places.Use) {
        var crowd = Crowd()
        crowd.add(2, of: 2)
        crowd.add(6, of: 1, use)
        // A few processes that each stay within their share come later than the greedy one.
        for process in 3...20 as ClosedRange<Int32> {
            let leaving = crowd.yielding(to: Holder("new", of: process, use))
            #expect(leaving.hasPrefix("1.") || use == .busy && leaving.hasPrefix("2."), "\(use)")
        }
        crowd.holders.removeFirst(2)
        crowd.add(2, of: 1, use)
        #expect(crowd.yielding(to: Holder("new", of: 3)).hasPrefix("1."))
    }

    @Test func `of the connections of a process the least used gives way, and then the oldest`() {
        var crowd = Crowd()
        let uses = [Places.Use.busy, .held, .held, .idle, .idle, .none, .none, .busy]
        for (number, use) in uses.enumerated() { crowd.holders.append(Holder("\(number)", of: 1, use, at: number)) }
        for expected in ["5", "6", "3", "4", "1", "2", "7"] {
            let leaving = crowd.yielding(to: Holder("new", of: 2))
            #expect(leaving == expected)
            crowd.holders.removeAll { $0.name == leaving }
            crowd.holders.append(Holder("busy", of: 1, .busy, at: -1))
        }
    }

    @Test func `a client that has just connected does not give way to the next one before it has spoken`() {
        var crowd = Crowd()
        for process in 1...7 as ClosedRange<Int32> { crowd.add(1, of: process) }
        crowd.holders.append(Holder("silent", of: 8, .none, at: 20))
        #expect(crowd.yielding(to: Holder("new", of: 9)) == "silent")
        crowd.holders[7] = Holder("young", of: 8, .none, at: 20, age: .zero)
        #expect(crowd.yielding(to: Holder("new", of: 9)) == "1.0")
    }

    @Test func `where no process is beyond its share, an idle connection gives way before one that is at work`() {
        var crowd = Crowd()
        for process in 1...4 as ClosedRange<Int32> { crowd.add(2, of: process, process == 3 ? .held : .busy) }
        #expect(crowd.yielding(to: Holder("new", of: 5)) == "3.0")
        crowd.holders.removeAll { $0.claim.process == 3 }
        crowd.add(2, of: 6, .busy)
        #expect(crowd.yielding(to: Holder("new", of: 5)) == "new")
    }

    @Test func `a program that starts a process for each connection is one unit, which gives way`() {
        var crowd = Crowd(units: [1: "mail.scope", 2: "mail.scope"])
        crowd.add(1, of: 1, .none)
        crowd.add(1, of: 2)
        for process in 10..<16 as Range<Int32> {
            crowd.units[process] = "greedy.scope"
            crowd.add(1, of: process, .held)
        }
        crowd.units[3] = "other.scope"
        #expect(crowd.yielding(to: Holder("new", of: 3)) == "10.0")
    }

    @Test func `processes that have ended, whose connections others hold, are one unit as well`() {
        var crowd = Crowd(units: [1: "mail.scope", 3: "other.scope"])
        crowd.add(2, of: 1)
        for process in 10..<16 as Range<Int32> { crowd.add(1, of: process, .held) }
        #expect(crowd.yielding(to: Holder("new", of: 3)) == "10.0")
    }

    @Test func `a process with a number that another had is not blamed for its connections`() {
        var crowd = Crowd(ages: [1: .seconds(10)])
        for number in 0..<8 {
            crowd.holders.append(Holder("\(number)", of: 1, .idle, at: number, age: .seconds(100)))
        }
        // As the process that held them, its first connection would be beyond the share, and one more of its own.
        crowd.holders[7] = Holder("own", of: 1, .idle, at: -10, age: .seconds(5))
        #expect(crowd.yielding(to: Holder("new", of: 1)) == "0")
    }

    @Test func `where all connections are at work, one waits unless a process is beyond its share`() {
        var crowd = Crowd()
        for process in 1...4 as ClosedRange<Int32> { crowd.add(2, of: process, .busy) }
        #expect(!crowd.places().canAdmit(to: crowd.holders))
        #expect(crowd.places().canAdmit(to: Array(crowd.holders.dropLast())))
        crowd.holders[0] = Holder("more", of: 2, .busy)
        #expect(crowd.places().canAdmit(to: crowd.holders))
        crowd.holders[0] = Holder("idle", of: 1, .idle)
        #expect(crowd.places().canAdmit(to: crowd.holders))
    }

    @Test func `in any crowd, a process within its share loses nothing while another is beyond`() {
        let random = SeededRandom("places")
        for _ in 0..<500 {
            var crowd = Crowd(most: 16)
            for number in 0..<16 {
                let process = random.chance(50) ? 1 : Int32(random.number(in: 1...6))
                let use = random.element(of: [Places.Use.none, .idle, .held])
                crowd.holders.append(Holder("old", of: process, use, at: number))
            }
            let new = Holder("new", of: Int32(random.number(in: 1...6)))
            let counts = Dictionary(grouping: crowd.holders + [new], by: \.claim.process).mapValues(\.count)
            let leaving = crowd.places().yielding(to: new, among: crowd.holders + [new]).claim.process
            guard let most = counts.values.max(), most > 4 else { continue }
            #expect(counts[new.claim.process, default: 0] > 4 ? leaving == new.claim.process : counts[leaving] == most)
        }
    }

    @Test func `an earlier process with the number of a running one is told by the time`() {
        let places = Places(most: 1, share: 1, .ofMachine)
        let all = [
            Holder("former", of: getpid(), .idle, at: -5, age: .seconds(1 << 32)),
            Holder("old", of: getpid(), age: .zero),
        ]
        let new = Holder("new", of: getpid(), age: .zero)
        #expect(places.yielding(to: new, among: all + [new]).name == "old")
    }
}

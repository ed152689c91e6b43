// SPDX-License-Identifier: Apache-2.0

/// For whom a person is not asked for a while: asked again at once they would say yes in the end to be left alone, and
/// no other question would get its turn.
package struct Refusals: Sendable {
    /// What a process is known by. Its unit stays the same when it starts another one.
    package enum Name: Hashable, Sendable {
        case process(Int32, startTime: UInt64)
        case unit(String)
    }

    private struct Rest {
        /// When a person may be asked again.
        var end: Duration
        var length: Duration
    }

    private var rests: [Name: Rest] = [:]

    package init() {}

    /// After the first no, and after so many that it is not doubled any more.
    package static let rest = (first: Duration.seconds(30), longest: Duration.seconds(3600))
    private static let mostRests = 1024

    package func isResting(_ names: [Name], at now: Duration) -> Bool {
        names.contains { name in rests[name].map { now < $0.end } ?? false }
    }

    /// A person has said no, or nothing.
    package mutating func note(_ names: [Name], at now: Duration) {
        // One that has let a person alone for so long begins anew.
        rests = rests.filter { now < $0.value.end + Refusals.rest.longest }
        for name in names {
            let length = min(rests[name].map { $0.length * 2 } ?? Refusals.rest.first, Refusals.rest.longest)
            rests[name] = Rest(end: now + length, length: length)
        }
        while rests.count > Refusals.mostRests, let first = rests.min(by: { $0.value.end < $1.value.end }) {
            rests[first.key] = nil
        }
    }

    /// A person has said yes.
    package mutating func forget(_ names: [Name]) { for name in names { rests[name] = nil } }
}

extension Refusals.Name {
    /// The names of a process.
    ///
    /// - Parameters:
    ///   - startTime: in clock ticks since the machine started; nil: it has ended.
    ///   - cgroup: nil: it is looked for.
    package static func of(process id: Int32, startTime: UInt64?, cgroup: String? = nil) -> [Refusals.Name] {
        let unit = (cgroup ?? ProcessTable.cgroup(of: id)).flatMap { ProcessTable.unit(inCgroup: $0) }
        return [startTime.map { .process(id, startTime: $0) }, unit.map { .unit($0) }].compactMap { $0 }
    }
}

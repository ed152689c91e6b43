// SPDX-License-Identifier: Apache-2.0

/// The processes for which no person is asked for a while. Repeated questions could wear a person down until they
/// agree, and would block all other questions.
package struct Refusals: Sendable {
    /// The identities of a process. A unit stays the same when it starts another process.
    package enum Name: Hashable, Sendable {
        case process(Int32, startTime: UInt64)
        case unit(String)
    }

    private struct Rest {
        /// The time from which a person may be asked again.
        var end: Duration
        var length: Duration
    }

    private var rests: [Name: Rest] = [:]

    package init() {}

    /// The rest after the first refusal, and the upper bound of its doubling.
    package static let rest = (first: Duration.seconds(30), longest: Duration.seconds(3600))
    private static let mostRests = 1024

    package func isResting(_ names: [Name], at now: Duration) -> Bool {
        names.contains { name in rests[name].map { now < $0.end } ?? false }
    }

    /// Notes that a person has declined or not answered.
    package mutating func note(_ names: [Name], at now: Duration) {
        // The doubling starts anew for a process that was quiet for so long.
        rests = rests.filter { now < $0.value.end + Refusals.rest.longest }
        for name in names {
            let length = min(rests[name].map { $0.length * 2 } ?? Refusals.rest.first, Refusals.rest.longest)
            rests[name] = Rest(end: now + length, length: length)
        }
        while rests.count > Refusals.mostRests, let first = rests.min(by: { $0.value.end < $1.value.end }) {
            rests[first.key] = nil
        }
    }

    /// Notes that a person has agreed.
    package mutating func forget(_ names: [Name]) { for name in names { rests[name] = nil } }
}

extension Refusals.Name {
    /// Returns the identities of a process.
    ///
    /// - Parameters:
    ///   - startTime: in clock ticks since the start of the machine; `nil` if the process has ended.
    ///   - cgroup: `nil` reads the control group from /proc.
    package static func of(process id: Int32, startTime: UInt64?, cgroup: String? = nil) -> [Refusals.Name] {
        let unit = (cgroup ?? ProcessTable.cgroup(of: id)).flatMap { ProcessTable.unit(inCgroup: $0) }
        return [startTime.map { .process(id, startTime: $0) }, unit.map { .unit($0) }].compactMap { $0 }
    }
}

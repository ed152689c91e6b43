// SPDX-License-Identifier: Apache-2.0
import Foundation
import Vault

/// Many concurrent workers, a third of which are killed on the way, and the check of their logs.
struct Races {
    let scratch: Scratch
    let processes: Int
    let threads: Int
    let seconds: Int

    init(_ scratch: Scratch, processes: Int, threads: Int, seconds: Int) {
        (self.scratch, self.processes, self.threads, self.seconds) = (scratch, processes, threads, seconds)
    }

    func run() throws -> Bool {
        try scratch.make().close()
        let workers = try (0..<processes).map { number in
            // A third of the workers die by one of their threads, while their other threads are in the middle of an
            // operation.
            let lifetime = number < processes / 3 ? Int.random(in: 1...150) : .max
            return try scratch.spawn(["work", "p\(number)", "\(threads)", "\(seconds)", "\(lifetime)"])
        }
        workers.forEach { $0.waitUntilExit() }
        let killed = workers.count { $0.terminationReason == .uncaughtSignal && $0.terminationStatus == SIGKILL }
        let failed = workers.filter { $0.terminationStatus != 0 && $0.terminationStatus != SIGKILL }
        var faults = failed.map { "a worker ended with \($0.terminationStatus)" }
        if killed == 0 { faults.append("no worker was killed") }
        let vault = try scratch.open()
        let events = try scratch.logs().flatMap { $0 }
        faults += try judge(events, vault)
        let longest = events.filter { $0.version > 0 }.map { $0.end - $0.begin }.max() ?? 0
        // A writer waits at most 30 s for the lock, and then fails.
        if longest > 31_000_000_000 { faults.append("somebody waited longer than the patience of a writer") }
        do { _ = try vault.verify(deep: true) } catch { faults.append("the vault does not verify: \(error)") }
        faults.forEach { say("races: \($0)") }
        say(
            """
            races: \(processes) processes, \(threads) threads each, \(killed) killed, \(events.count) events, longest \
            wait \(longest / 1_000_000) ms, \(faults.count) faults
            """
        )
        return faults.isEmpty && !events.isEmpty
    }

    private func judge(_ events: [Event], _ vault: Vault) throws -> [String] {
        var faults: [String] = []
        // Every item whose addition was acknowledged exists unchanged.
        for event in events where event.kind == .add {
            var query = Query(.genericPassword, service: "own", account: event.key)
            query.returnsSecrets = true
            if (try? vault.copyMatching(query).first?.text) != event.value {
                faults.append("\(event.key) was added and is lost")
            }
        }
        for key in 0..<Worker.keys {
            faults += judge(events.filter { $0.kind != .add && $0.key == "\(key)" }, key: "\(key)", vault)
        }
        return faults
    }

    /// Checks that the history of one item is linearizable: the versions give an order, which must not contradict the
    /// clock.
    private func judge(_ events: [Event], key: String, _ vault: Vault) -> [String] {
        var faults: [String] = []
        let begun = Set(events.filter { $0.kind == .set }.map(\.value))
        var written: [UInt64: String] = [:]
        for event in events where event.kind == .set && event.version > 0 {
            if let other = written[event.version] {
                faults.append("key \(key): version \(event.version) is both \(other) and \(event.value)")
            }
            written[event.version] = event.value
        }
        for event in events where event.kind == .read {
            if let value = written[event.version], value != event.value {
                faults.append("key \(key): \(event.value) was read for \(value)")
            }
            if !begun.contains(event.value) { faults.append("key \(key): \(event.value) was read and never written") }
        }
        // An operation that begins after the end of another has a higher version, or at least the same version if it
        // reads.
        let known = events.filter { $0.version > 0 }
        let byEnd = known.sorted { $0.end < $1.end }
        var (next, highest) = (0, UInt64(0))
        for event in known.sorted(by: { $0.begin < $1.begin }) {
            while next < byEnd.count, byEnd[next].end < event.begin {
                highest = max(highest, byEnd[next].version)
                next += 1
            }
            if event.version < highest || event.kind == .set && event.version == highest {
                faults.append("key \(key): version \(event.version) came after \(highest)")
            }
        }
        let final =
            (try? vault.copyMatching(Query(.genericPassword, service: "shared", account: key)).first)?.record?.version
            ?? 0
        let last = known.map(\.version).max() ?? 0
        if final < last { faults.append("key \(key): the last version is \(final), and \(last) was acknowledged") }
        return faults
    }
}

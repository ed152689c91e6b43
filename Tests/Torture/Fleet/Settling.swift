// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Syncs each home in turn until all of them report the same checksum.
struct Settling {
    private(set) var isEqual = false
    /// The homes whose syncs reported a loss of records by the remote.
    private(set) var noticed: Set<Int> = []
    private(set) var text = "not equal after 8 rounds"

    /// - Parameter homes: the homes, whose agents are started and unlocked.
    init(_ homes: inout [Home]) throws {
        for index in homes.indices {
            try homes[index].startAgent()
            try homes[index].unlock()
        }
        var said: [String] = []
        for round in 1...8 {
            // Devices compare differing checksums once more after a minute, and only then report a record as withheld.
            if round == 5 || round == 7 {
                say("fleet: the homes are not equal after \(round - 1) rounds: waits a minute")
                for line in said { say(line) }
                sleep(61)
            }
            let results = try homes.map { try $0.run(["sync", "--fingerprint"]) }
            for (home, result) in zip(homes, results) where result.child.said.contains(Home.rollback) {
                noticed.insert(home.number)
            }
            said = zip(homes, results).filter { $0.1.ending != .exit(0) }.map { home, result in
                "fleet: home \(home.number): the last sync ended with \(result.ending.text): \(result.child.message)"
            }
            if said.isEmpty, Set(results.map(\.output)).count == 1 {
                (isEqual, text) = (true, "equal after \(round) rounds")
                return
            }
        }
        for line in said { say(line) }
    }
}

// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// Every input at a door gets an answer or a refusal. `Scripts/fuzz` searches for more inputs.
struct DoorFuzzCaseTests {
    @Test func `what the fuzzer once found holds`() throws {
        for input in try Vectors.fuzzCases("doors") + FuzzedDoors.seeds { #expect(FuzzedDoors.holds(input)) }
    }

    @Test func `what was changed here and there holds`() throws {
        let random = SeededRandom("doors")
        let seeds = FuzzedDoors.seeds
        for _ in 0..<2000 {
            let seed = random.element(of: seeds)
            #expect(FuzzedDoors.holds([seed[0]] + random.mutated(Array(seed.dropFirst()))))
        }
    }
}

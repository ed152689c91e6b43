// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultStorage

/// Logs with arbitrary content give an error or a consistent vault. `Scripts/fuzz` searches for more inputs.
struct LogFuzzCaseTests {
    @Test func `what the fuzzer once found holds`() throws {
        for input in try Vectors.fuzzCases("log") + FuzzedLog.seeds {
            #expect(FuzzedLog.holds(input), "\(input.prefix(32))")
        }
    }

    @Test func `the inputs that the fuzzer begins with are whole vaults`() throws {
        #expect(FuzzedLog.seeds.count == FuzzedLog.allCases.count)
        for seed in FuzzedLog.seeds {
            let disk = SimulatedDisk()
            let vault = try #require(FuzzedLog.vault(seed))
            disk.put(vault.bytes, as: VaultBuilder.name)
            #expect(try FuzzedLog.open(disk, vault).records.count == 3)
        }
    }

    @Test(arguments: FuzzedLog.allCases) func `logs that were changed here and there hold`(target: FuzzedLog) throws {
        let random = SeededRandom("log \(target)")
        let seed = FuzzedLog.seeds[Int(target.rawValue)]
        for round in 0..<150 {
            var input = seed
            for _ in 0...round % 3 { input[random.number(in: 1...input.count - 1)] = UInt8(random.uniform(256)) }
            #expect(FuzzedLog.holds(input), "round \(round)")
        }
    }
}

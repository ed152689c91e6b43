// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultFormat

/// An accepted input is written again byte for byte. `Scripts/fuzz` searches for more inputs.
struct FuzzCaseTests {
    @Test func `what the fuzzer once found holds`() throws {
        for input in try Vectors.fuzzCases("format") { #expect(FuzzedFormat.holds(input), "\(input.prefix(32))") }
    }

    @Test func `URLs that were changed here and there hold`() {
        let random = SeededRandom("fuzzed URLs")
        for seed in FuzzedFormat.ofURLs {
            for _ in 0..<40 {
                var input = seed
                for _ in 0..<random.number(in: 0...3) where input.count > 1 {
                    input[random.number(in: 1...input.count - 1)] = UInt8(random.uniform(256))
                }
                #expect(FuzzedFormat.holds(input), "\(String(decoding: input.dropFirst(), as: UTF8.self))")
            }
        }
    }

    @Test(arguments: FuzzedFormat.ofVaults) func `parts of vaults that were changed here and there hold`(
        target: FuzzedFormat
    ) throws {
        let random = SeededRandom("fuzz \(target)")
        let names = Vectors.names("vaults", suffix: "")
        var accepted = 0
        for name in names.shuffled(by: random).prefix(24) {
            let bytes = try Vectors.bytes(name)
            let start = [0, 256, 4096, 12288, 12372, 12392, 12372][Int(target.rawValue)]
            let length = [4096, 256, 4096, 80, 400, 300, 200][Int(target.rawValue)]
            guard bytes.count >= start + 64 else { continue }
            let part = Array(bytes[start..<min(bytes.count, start + length)])
            for round in 0..<40 {
                var input = part
                // Few changes, so that some inputs pass the first checks.
                for _ in 0..<random.number(in: 0...min(round, 3)) {
                    input[random.number(in: 0...input.count - 1)] = UInt8(random.uniform(256))
                }
                #expect(FuzzedFormat.holds([target.rawValue] + input), "\(name), round \(round)")
                accepted += 1
            }
        }
        #expect(accepted > 100)
    }
}

extension Array {
    fileprivate func shuffled(by random: SeededRandom) -> [Element] {
        var rest = self
        return indices.map { _ in rest.remove(at: random.number(in: 0...rest.count - 1)) }
    }
}

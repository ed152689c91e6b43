// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// Every input is parsed to logins or refused. `Scripts/fuzz` searches for more inputs.
struct ImportFuzzCaseTests {
    @Test func `what the fuzzer once found holds`() throws {
        for input in try Vectors.fuzzCases("import") + FuzzedImport.seeds {
            #expect(FuzzedImport.holds(input), "\(String(decoding: input, as: UTF8.self))")
        }
    }

    @Test(arguments: FuzzedImport.seeds.indices)
    func `files that were changed here and there hold`(_ index: Int) throws {
        let random = SeededRandom("import \(index)")
        for round in 0..<200 {
            var input = FuzzedImport.seeds[index]
            for _ in 0...round % 4 { input[random.number(in: 1...input.count - 1)] = UInt8(random.uniform(256)) }
            if random.chance(20) { input.removeLast(random.number(in: 0...input.count - 1)) }
            #expect(FuzzedImport.holds(input), "\(String(decoding: input, as: UTF8.self))")
        }
    }
}

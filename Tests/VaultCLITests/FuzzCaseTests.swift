// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

/// The inputs that the fuzzer has found: arbitrary arguments are a command or an error. `Scripts/fuzz` searches for
/// more.
struct CommandFuzzCaseTests {
    @Test func `what the fuzzer once found holds`() throws {
        for input in try Vectors.fuzzCases("command") + FuzzedCommand.seeds {
            #expect(FuzzedCommand.holds(input), "\(String(decoding: input, as: UTF8.self))")
        }
    }

    @Test func `command lines that were changed here and there hold`() throws {
        let random = SeededRandom("command")
        for round in 0..<300 {
            var input = random.element(of: FuzzedCommand.seeds)
            for _ in 0...round % 4 { input[random.number(in: 1...input.count - 1)] = UInt8(random.uniform(256)) }
            #expect(FuzzedCommand.holds(input), "\(String(decoding: input, as: UTF8.self))")
        }
    }
}

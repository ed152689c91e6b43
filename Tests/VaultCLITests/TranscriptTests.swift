// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

/// A session at the terminal: `$ command`, then `> ` before each line of output, `! ` before each line of errors, and
/// `? ` before an exit code other than 0.
///
/// A `*` in an expected line matches any text. Unexpected lines are failures.
struct Transcript: Sendable, CustomTestStringConvertible {
    struct Step {
        var command: String
        var output: [String] = []
        var error: [String] = []
        var status: Int32 = 0
    }

    let name: String

    var testDescription: String { name }

    static var all: [Transcript] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".txt") }.sorted().map(Transcript.init)
    }

    private static var directory: String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Transcripts").path()
    }

    func steps() throws -> [Step] {
        let text = try String(contentsOfFile: Self.directory + "/" + name, encoding: .utf8)
        var steps: [Step] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
            let rest = String(line.dropFirst(2))
            switch line.prefix(1) {
            case "$": steps.append(Step(command: rest))
            case "#": continue
            case ">": steps[steps.count - 1].output.append(rest)
            case "!": steps[steps.count - 1].error.append(rest)
            case "?": steps[steps.count - 1].status = Int32(rest) ?? -1
            default: steps[steps.count - 1].command += "\n" + line
            }
        }
        return steps
    }
}

struct TranscriptTests {
    @Test(arguments: Transcript.all) func `the command does what the transcript says`(transcript: Transcript) throws {
        let shell = try Shell()
        for step in try transcript.steps() {
            let result = try shell.run(step.command)
            let context = "\(transcript.name): \(step.command)\nstdout: \(result.output)\nstderr: \(result.error)"
            #expect(result.status == step.status, "\(context)")
            #expect(matches(result.output, step.output), "\(context)")
            #expect(matches(result.error, step.error), "\(context)")
        }
    }

    @Test func `every exit code that the command has stands in a transcript`() throws {
        let seen = Set(try Transcript.all.flatMap { try $0.steps().map(\.status) })
        let listed = try Shell().run("vault help exit-codes").output.split(separator: "\n").compactMap {
            Int32($0.prefix(3).filter { $0 != " " })
        }
        // 130 needs a terminal: PromptTests covers it.
        #expect(Set(listed).subtracting(seen) == [130])
    }

    private func matches(_ text: String, _ expected: [String]) -> Bool {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
        return lines.count == expected.count && zip(lines, expected).allSatisfy(matches)
    }

    private func matches(_ line: String, _ pattern: String) -> Bool {
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1 else { return line == pattern }
        guard line.hasPrefix(parts[0]), line.hasSuffix(parts[parts.count - 1]) else { return false }
        var rest = Substring(line).dropFirst(parts[0].count)
        for part in parts[1...] where !part.isEmpty {
            guard let range = rest.range(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }
}

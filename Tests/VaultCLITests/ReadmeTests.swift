// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing

struct ReadmeTests {
    private static var readme: String {
        get throws {
            let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
            return try String(contentsOf: url.appending(path: "README.md"), encoding: .utf8)
        }
    }

    /// The blocks in this language.
    private static func blocks(_ language: String) throws -> [String] {
        try readme.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
    }

    @Test func `every command of the readme runs`() throws {
        let shell = try Shell()
        _ = try shell.run("umask 077; cp pass .passphrase; printf '#!/bin/sh\necho more >> \"$1\"' > ed; chmod +x ed")
        let export = "name,url,username,password\nExample,https://example.com/,grace,pw\n"
        try shell.home.write(Array(export.utf8), to: "passwords.csv")
        let (other, joins) = (try Shell(), "--join")
        _ = try shell.run("mkdir share")
        var ran = 0
        let lines = try Self.blocks("sh").flatMap { $0.split(separator: "\n").map(String.init) }
        let commands = lines.map { $0.components(separatedBy: "  #")[0] }
        for command in commands where command.contains("vault ") {
            // Without a terminal a delete needs `--yes`.
            var confirmed = command.contains("vault delete") ? command + " --yes" : command
            confirmed = confirmed.replacingOccurrences(of: "/srv/share", with: shell.home.path.string + "/share")
            if command.contains("device approve") { confirmed += " --yes --code-file ~/code" }
            let environment = "export VAULT_PASSPHRASE_FILE=~/.passphrase EDITOR=~/ed; "
            let result: Shell.Result
            if command.contains(joins) {
                // On the other machine, where the command waits for the next line's command on this machine.
                result = try other.run(
                    "umask 077; cp pass .passphrase; vault init --kdf interactive --passphrase-file pass")
                let code = try other.firstLine(ofAside: environment + confirmed + " --timeout 60")
                try shell.home.write(Array(code.utf8), to: "code")
            } else {
                result = try shell.run(environment + confirmed)
            }
            #expect(result.status == 0, "\(command): \(result.error)")
            ran += 1
        }
        #expect(ran >= 8)
        #expect(try other.endOfAside() == 0)
        #expect(try other.run("vault find --passphrase-file pass").output.contains("example.com\t"))
        for script in try Self.blocks("sh").joined().split(separator: "\n") where script.hasPrefix("Scripts/") {
            let name = String(script.split(separator: " ")[0])
            #expect(FileManager.default.isExecutableFile(atPath: Vectors.directory + "/../../" + name), "\(name)")
        }
    }

    @Test func `the examples of the readme are those that are compiled and run`() throws {
        let compiled = try String(
            contentsOfFile: Vectors.directory + "/../Dependent/Sources/dependent/ReadmeExamples.swift", encoding: .utf8)
        let examples = try Self.blocks("swift")
        #expect(examples.count == 2)
        for example in examples {
            let lines = example.split(separator: "\n").filter { !$0.hasPrefix("//") && !$0.hasPrefix("import") }
            #expect(compiled.contains(lines.joined(separator: "\n")))
        }
    }

    @Test func `the readme says how many files a reader must refuse or read`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Vectors.directory + "/vaults")
        #expect(try Self.readme.contains("; \(files.count) files under\n`Tests/Vectors/vaults`"))
    }

    @Test func `the readme is short`() throws {
        #expect(try Self.readme.filter(\.isNewline).count <= 130)
    }
}

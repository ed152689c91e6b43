// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

@testable import VaultCLI

struct ManualTests {
    private static let page = Result { try CommandManual.page().text }

    @Test func `the manual begins with examples, and describes what unlocks the vault once`() throws {
        let text = try Self.page.get()
        let sections = text.split(separator: "\n").filter { $0.hasPrefix(".SH ") }.map { $0.dropFirst(4) }
        #expect(sections.prefix(5) == ["NAME", "SYNOPSIS", "EXAMPLES", "DESCRIPTION", "OPTIONS THAT UNLOCK THE VAULT"])
        #expect(sections.last == "SEE ALSO")
        #expect(text.ranges(of: "\\-\\-passphrase\\-fd NUMBER").count == 2)  // and of init, which has no others
        let commands = text.split(separator: "\n").filter { $0.hasPrefix(".SS vault ") }
        #expect(commands.first?.hasPrefix(".SS vault init") == true)
        #expect(commands.last?.hasPrefix(".SS vault browser\\-host") == true)
        #expect(!commands.contains { $0.contains("complete\\-line") || $0.contains("unlock\\-options") })
    }

    @Test func `every command of the tool is in the manual, with each of its own options`() throws {
        let text = try Self.page.get()
        let common = Set(try UnlockTopic.options().map(\.title))
        func check(_ tree: CommandTree, _ path: [String]) {
            let name = (path + [tree.commandName]).joined(separator: " ")
            guard tree.shouldDisplay ?? true, tree.commandName != "help" else { return }
            if !path.isEmpty {
                let end = tree.subcommands == nil ? "[OPTIONS]" : "COMMAND"
                let start = text.range(of: ".SS \(ManualPage.escaped(name)) \(end)")
                #expect(start != nil, "\(name)")
                let part = start.map { text[$0.upperBound...].prefix(while: { $0 != "\u{0}" }) } ?? ""
                let own = part.range(of: "\n.S").map { part[..<$0.lowerBound] } ?? part
                for argument in tree.arguments ?? [] where argument.shouldDisplay ?? true && !argument.isBuiltIn {
                    guard !common.contains(argument.title) else { continue }
                    #expect(own.contains(ManualPage.escaped(argument.title)), "\(name): \(argument.title)")
                }
            }
            for subcommand in tree.subcommands ?? [] { check(subcommand, path + [tree.commandName]) }
        }
        check(try CommandTree(), [])
    }

    @Test(arguments: CommandManual.examples.map(\.command)) func `every example is a command that the parser takes`(
        line: String
    ) throws {
        let words = line.split(separator: " ").map(String.init)
        #expect(words.first == "vault")
        _ = try CommandLineTool.parse(CommandLineTool.normalized(Array(words.dropFirst())))
    }
}

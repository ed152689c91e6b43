// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// What the library offers is in the documentation's lists, where people look for it.
struct DocumentationTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../Sources/Vault"
    ).standardized

    private static func page(_ name: String) throws -> String {
        try String(contentsOf: sources.appending(path: "Vault.docc/\(name).md"), encoding: .utf8)
    }

    /// Every line of the library's code, without its indentation.
    private static var code: [(file: String, line: String)] {
        get throws {
            let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
            return try files.filter { $0.hasSuffix(".swift") }.flatMap { file in
                try String(contentsOf: sources.appending(path: file), encoding: .utf8).split(separator: "\n").map {
                    (file, String($0))
                }
            }
        }
    }

    @Test func `every public type is a topic, or in the table of what comes with the library`() throws {
        let page = try Self.page("Vault")
        let parts = try #require(page.firstRange(of: "## Topics"))
        let (overview, topics) = (page[..<parts.lowerBound], page[parts.upperBound...])
        var found = 0
        for (_, line) in try Self.code {
            if let name = line.firstMatch(of: /^public (?:final )?(?:struct|class|enum|protocol) (\w+)/)?.1 {
                #expect(topics.contains("- ``\(name)``\n") || topics.contains("- ``Vault/\(name)``\n"), "\(name)")
            } else if let name = line.firstMatch(of: /^@_exported public import \w+ \w+\.(\w+)/)?.1 {
                #expect(overview.contains("| `\(name)`") || overview.contains(", `\(name)`"), "\(name)")
            } else {
                continue
            }
            found += 1
        }
        #expect(found > 35)
    }

    @Test(arguments: ["UserDefaults", "PropertyLists", "CoreDataOrRealm", "SQLite"])
    func `the examples of an article are those that are compiled and run`(_ store: String) throws {
        let compiled = try String(
            contentsOf: Self.sources.appending(
                path: "../../Tests/Dependent/Sources/dependent/ArticleExamples.swift"
            ).standardized, encoding: .utf8)
        let blocks = try Self.page("ComingFrom\(store)").components(separatedBy: "```swift\n").dropFirst()
        #expect(blocks.count >= 2)
        for block in blocks {
            let code = try #require(block.components(separatedBy: "\n```").first)
            for part in code.components(separatedBy: "\n\n") { #expect(compiled.contains(part), "\(part)") }
            // And it is called.
            let names = code.matches(of: /func (\w+)\(vault/).map { String($0.1) }
            #expect(names.allSatisfy { compiled.contains("\($0)(vault: vault") }, "\(names)")
        }
    }

    @Test func `everything that a vault can do is a topic`() throws {
        let topics = try Self.page("TheVault")
        var isVault = false
        var found = 0
        for (file, line) in try Self.code {
            if let type = line.firstMatch(of: /^(?:public final class|extension|public struct|extension) (\w+)/)?.1 {
                isVault = type == "Vault"
            } else if line.hasPrefix("//") {
                isVault = false
            }
            let member = /^    public (?:nonisolated\(nonsending\) )?(?:static )?(?:func|var|let) (\w+)/
            guard isVault, let name = line.firstMatch(of: member)?.1 else { continue }
            found += 1
            #expect(topics.contains("- ``\(name)(") || topics.contains("- ``\(name)``"), "\(name) of \(file)")
        }
        #expect(found > 45)
    }
}

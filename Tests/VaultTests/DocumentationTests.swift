// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// The library's public interface appears in the lists of the documentation.
struct DocumentationTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../Sources/Vault"
    ).standardized

    private static func page(_ name: String) throws -> String {
        try String(contentsOf: sources.appending(path: "Vault.docc/\(name).md"), encoding: .utf8)
    }

    /// Every line of the library's code, without indentation.
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

    private static let articles = try? FileManager.default.contentsOfDirectory(
        atPath: sources.appending(path: "Vault.docc").path
    ).filter { $0.hasSuffix(".md") }.sorted()

    /// Returns the lines of a text without indentation, empty lines, and the imports at the beginning of a file.
    private static func code(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
            !$0.isEmpty && !$0.hasPrefix("import ")
        }.joined(separator: "\n")
    }

    /// The sources of the dependent packages, which are compiled and run.
    private static let compiled = Result {
        let directory = sources.appending(path: "../../Tests/Dependent").standardized
        let files = try #require(FileManager.default.enumerator(atPath: directory.path)).compactMap { $0 as? String }
        return try files.filter { $0.hasSuffix(".swift") }.map { file in
            code(try String(contentsOf: directory.appending(path: file), encoding: .utf8))
        }
    }

    @Test(arguments: try #require(articles))
    func `every block of code of an article is compiled as it stands`(_ article: String) throws {
        let compiled = try Self.compiled.get()
        let page = try String(contentsOf: Self.sources.appending(path: "Vault.docc/\(article)"), encoding: .utf8)
        for block in page.components(separatedBy: "```swift\n").dropFirst() {
            let text = try #require(block.components(separatedBy: "\n```").first)
            // Parts of a manifest, which no program contains.
            if text.hasPrefix(".package(") || text.hasPrefix(".product(") || text.hasPrefix("swiftSettings:") {
                continue
            }
            #expect(compiled.contains { $0.contains(Self.code(text)) }, "\(text)")
            // Whole functions are also called.
            let names = text.matches(of: /func (\w+)\(vault/).map { String($0.1) }
            #expect(names.allSatisfy { name in compiled.contains { $0.contains("\(name)(vault: vault") } }, "\(names)")
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

    // MARK: Where features meet

    /// The rows of the section, in their order: a feature, and the text for each pair with another feature.
    private static var meetings: [(feature: String, pairs: [(other: String, text: String)])] {
        get throws {
            let page = try Self.page("Architecture")
            let start = try #require(page.firstRange(of: "### Where features meet\n"))
            let section = page[start.upperBound...].components(separatedBy: "\n### ")[0]
            return section.components(separatedBy: "\n#### ").dropFirst().map { row in
                // A long line continues on the next.
                let lines = row.replacing("\n  ", with: " ").split(separator: "\n").map(String.init)
                let pairs = lines.dropFirst().compactMap { line -> (String, String)? in
                    let parts = line.split(separator: ": ", maxSplits: 1)
                    return line.hasPrefix("- ") && parts.count == 2
                        ? (String(parts[0].dropFirst(2)), String(parts[1])) : nil
                }
                return (lines[0], pairs)
            }
        }
    }

    @Test func `each pair of features has one line, in the row of the later`() throws {
        let rows = try Self.meetings
        #expect(rows.count >= 14)
        for (index, row) in rows.enumerated() {
            #expect(row.pairs.map(\.other) == rows[..<index].map(\.feature), "\(row.feature)")
        }
    }

    @Test func `a pair of features has a test that there is, or a reason`() throws {
        let tests = Self.sources.appending(path: "../../Tests").standardized
        let files = try #require(FileManager.default.enumerator(atPath: tests.path)).compactMap { $0 as? String }
        var names: [String: Set<String>] = [:]
        for file in files where file.hasSuffix("Tests.swift") {
            let text = try String(contentsOf: tests.appending(path: file), encoding: .utf8)
            let found = text.matches(of: /func\s+`([^`]+)`/).map { String($0.1) }
            for suite in text.matches(of: /(?m)^(?:@.* )?(?:struct|final class|class) (\w+Tests)\b/) {
                names[String(suite.1), default: []].formUnion(found)
            }
        }
        names["TranscriptTests"] = Set(
            files.filter { $0.contains("/Transcripts/") }.compactMap { $0.split(separator: "/").last.map(String.init) })
        for (feature, pairs) in try Self.meetings {
            for (other, text) in pairs where !text.hasPrefix("never: ") {
                let test = try #require(text.wholeMatch(of: /`(\w+)`: (.+)/), "\(feature) and \(other): \(text)")
                #expect(names[String(test.1)]?.contains(String(test.2)) == true, "\(feature) and \(other): \(text)")
            }
        }
    }
}

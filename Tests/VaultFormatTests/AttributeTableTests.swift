// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import VaultFormat

/// The attributes in the code match the table in the documentation of the format.
struct AttributeTableTests {
    /// The rows of the table: tag, name, classes, kind.
    private static var documented: [[String]] {
        get throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../Sources/Vault/Vault.docc/FileFormat.md")
            let lines = try String(contentsOf: file.standardized, encoding: .utf8).split(separator: "\n")
            let start = try #require(lines.firstIndex(of: "| tag | name | classes | kind |"))
            return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
                line.split(separator: "|").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
            }
        }
    }

    @Test func `the documentation of the format has every tag, with its name, classes and kind`() throws {
        let built = Attribute.allCases.filter(\.isEncoded).map { attribute in
            let classes = ItemClass.allCases.filter { attribute.belongs(to: $0) }.map(\.rawValue)
            let digits = String(attribute.rawValue, radix: 16, uppercase: true)
            return [
                String(repeating: "0", count: 4 - digits.count) + digits, attribute.name,
                classes.count == ItemClass.allCases.count ? "all" : classes.joined(separator: " "), "\(attribute.kind)",
            ]
        }
        #expect(try Self.documented == built)
    }

    @Test func `a tag is known when it is an attribute's, the user's or that of the fields`() {
        for number in UInt16.min...UInt16.max {
            let tag = AttributeTag(rawValue: number)
            #expect(tag.isKnown == (Attribute(tag) != nil || tag == .user || tag == .fields))
        }
        #expect(Attribute.allCases.filter(\.isEncoded).allSatisfy { $0.tag.isKnown && !$0.tag.isCritical })
        #expect(Attribute.allCases.filter { !$0.isEncoded }.allSatisfy { !$0.tag.isKnown })
    }

    @Test func `names are Apple's, of four characters, each of one attribute`() {
        #expect(Set(Attribute.allCases.map(\.name)).count == Attribute.allCases.count)
        for attribute in Attribute.allCases {
            #expect(attribute.name.utf8.count == 4)
            #expect(Attribute(name: attribute.name) == attribute)
        }
        #expect(Attribute(name: "none") == nil && Attribute(name: "") == nil)
    }

    @Test func `classes and protection classes have the numbers that the file has`() {
        #expect(ItemClass.allCases.map(\.number) == [1, 2, 3, 4])
        #expect(Accessibility.allCases.map(\.number) == Array(1...7))
        for number in UInt8.min...UInt8.max {
            #expect(ItemClass(number: number).map(\.number) == ((1...4).contains(number) ? number : nil))
            #expect(Accessibility(number: number).map(\.number) == ((1...7).contains(number) ? number : nil))
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import VaultFormat

/// The slot types in the code match the table in the documentation of the format.
struct SlotKindTests {
    @Test func `the documentation of the format has every type of slot with its number`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/Vault/Vault.docc/FileFormat.md")
        let text = try String(contentsOf: file.standardized, encoding: .utf8)
        let types = KeySlot.Kind.allCases.map { "\($0.rawValue) \($0.label)" }
        #expect(text.contains("type: " + types.joined(separator: ", ") + " |"))
    }

    @Test func `a type is dear to guess when a person chose a part of it, and for people when they keep one`() {
        #expect(KeySlot.Kind.allCases.filter(\.takesPassphrase) == [.passphrase, .passphraseAndKeyFile])
        #expect(KeySlot.Kind.allCases.filter(\.isForPeople) == [.passphrase, .recoveryCode, .passphraseAndKeyFile])
        #expect(KeySlot.Kind.allCases.allSatisfy { (1...2).contains($0.parts.count) })
    }
}

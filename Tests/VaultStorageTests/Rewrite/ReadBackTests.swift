// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// The comparison of a new file with the operations that it must contain.
struct ReadBackTests {
    private static func operation(_ account: String, at offset: UInt64) -> [UInt8] {
        Operation(
            kind: .put, itemClass: .genericPassword, protection: .whenUnlocked, id: ItemID(high: 1, low: 2), version: 1,
            valueVersion: 1, ordinal: 65_536, created: 0, modified: 0,
            value: ValueLocation(offset: offset, length: 104, tag: .init(repeating: 7)),
            deviceID: .init(repeating: 0),
            attributes: EncodedAttributes([AttributeTag(rawValue: 0x10): .string(account)], user: [:])
        ).encoded()
    }

    private static func isComplete(_ found: [[UInt8]]) -> Bool {
        var readBack = ReadBack(of: ["ada", "bob"].map { FrameBuilder.Pending(operation: operation($0, at: 0)) })
        readBack.setOffset(12_800, of: 0)
        for operation in found { readBack.find(operation.span) }
        return readBack.isComplete
    }

    @Test func `what was appended is found in order, at its new offset`() {
        let (first, second) = (Self.operation("ada", at: 12_800), Self.operation("bob", at: 0))
        #expect(Self.isComplete([first, second]))
        #expect(!Self.isComplete([second, first]))
        #expect(!Self.isComplete([Self.operation("ada", at: 12_816), second]))
        #expect(!Self.isComplete([first, Self.operation("bob", at: 12_800)]))
    }

    @Test func `a missing operation, another one and a changed byte are noticed`() {
        let (first, second) = (Self.operation("ada", at: 12_800), Self.operation("bob", at: 0))
        #expect(!Self.isComplete([]))
        #expect(!Self.isComplete([first]))
        #expect(!Self.isComplete([first, second, second]))
        for index in second.indices {
            var changed = second
            changed[index] ^= 1
            #expect(!Self.isComplete([first, changed]), "byte \(index)")
        }
        #expect(!Self.isComplete([first, second + [0]]))
        #expect(!Self.isComplete([first, Array(second.dropLast())]))
    }
}

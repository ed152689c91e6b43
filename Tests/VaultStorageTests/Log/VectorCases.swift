// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultStorage

private let slot = Layout.slotsOffset

extension VectorCase {
    static let good = "success one again, two, three"

    static let all: [VectorCase] = wholeFile + headers + slots + marks + frames + metadata + fields

    private static let wholeFile: [VectorCase] = [
        VectorCase("success", good) { _ in },
        VectorCase("success-compacted", good) { builder in builder = try builder.compacted() },
        VectorCase("wrong-passphrase", "wrong passphrase", passphrase: "correct horse battery stable") { _ in },
        VectorCase("wrong-passphrase-trailing-space", "wrong passphrase", passphrase: VaultBuilder.passphrase + " ") {
            _ in
        },
        VectorCase("empty-file", "damaged not a vault") { $0.cut(to: 0) },
        VectorCase("one-byte", "damaged not a vault") { $0.cut(to: 1) },
        VectorCase("header-only", "damaged not a vault") { $0.cut(to: 4096) },
        VectorCase("marks-cut-short", "damaged not a vault") { $0.cut(to: 12287) },
        VectorCase("zeros", "damaged not a vault") { builder in
            builder.replace(0..<builder.bytes.count, with: [UInt8](repeating: 0, count: builder.bytes.count))
        },
        VectorCase("trailing-garbage", good) { builder in
            builder.replace(builder.bytes.count..<builder.bytes.count, with: Array("garbage".utf8))
        },
        VectorCase("trailing-zeros", good) { builder in
            builder.replace(builder.bytes.count..<builder.bytes.count, with: [UInt8](repeating: 0, count: 5000))
        },
        VectorCase("trailing-copy-of-last-frame", good) { builder in
            let last = builder.frames[builder.frames.count - 1]
            builder.replace(builder.bytes.count..<builder.bytes.count, with: Array(builder.bytes[last]))
        },
    ]

    private static let headers: [VectorCase] = [
        VectorCase("header-magic", "damaged not a vault") { $0.flip(1) },
        VectorCase("header-magic-crlf-translated", "damaged not a vault") { $0.set(4, 0x0a) },
        VectorCase("header-bit-flip", "damaged header checksum") { $0.flip(100) },
        VectorCase("header-sum", "damaged header checksum") { $0.flip(4064) },
        VectorCase("header-major-2", "unsupported major") { builder in
            builder.set(8, integer: UInt16(2))
            builder.repairSum()
        },
        VectorCase("header-major-0", "unsupported major") { builder in
            builder.set(8, integer: UInt16(0))
            builder.repairSum()
        },
        VectorCase("header-minor-1", good) { builder in
            builder.set(10, integer: UInt16(1))
            try builder.resignAll()
        },
        VectorCase("header-length", "damaged header invalid(VaultFormat.FormatField.headerLength)") { builder in
            builder.set(12, integer: UInt32(8192))
            builder.repairSum()
        },
        VectorCase("header-generation-0", "damaged header invalid(VaultFormat.FormatField.generation)") { builder in
            builder.set(32, integer: UInt64(0))
            builder.repairSum()
        },
        VectorCase("header-generation-forged", "damaged header MAC") { builder in
            builder.set(32, integer: UInt64(2))
            builder.repairSum()
        },
        VectorCase("header-salt-forged", "damaged header MAC") { builder in
            builder.flip(40)
            builder.repairSum()
        },
        VectorCase("header-vault-id-forged", "wrong passphrase") { builder in
            builder.flip(16)
            builder.repairSum()
        },
        VectorCase("header-base-sequence-forged", "damaged header MAC") { builder in
            builder.set(88, integer: UInt64(3))
            builder.repairSum()
        },
        VectorCase("header-mac", "damaged header MAC") { builder in
            builder.flip(4032)
            builder.repairSum()
        },
        VectorCase("header-suite-2", "unsupported suite") { builder in
            builder.set(72, integer: UInt32(2))
            builder.repairSum()
        },
        VectorCase("header-required-feature", "unsupported requiredFeatures") { builder in
            builder.set(76, integer: UInt32(1 << 31))
            builder.repairSum()
        },
        VectorCase("header-optional-feature", good) { builder in
            builder.set(80, integer: UInt32(1))
            try builder.resignAll()
        },
        VectorCase("header-reserved", "damaged header invalid(VaultFormat.FormatField.reserved)") { builder in
            builder.set(200, 1)
            builder.repairSum()
        },
        VectorCase("header-annex-unclaimed", "damaged header invalid(VaultFormat.FormatField.annex)") { builder in
            builder.set(3000, 1)
            builder.repairSum()
        },
        VectorCase("header-slot-count-0", "damaged header outOfBounds(VaultFormat.FormatField.slotCount)") { builder in
            builder.set(84, integer: UInt16(0))
            builder.repairSum()
        },
        VectorCase("header-slot-count-9", "damaged header outOfBounds(VaultFormat.FormatField.slotCount)") { builder in
            builder.set(84, integer: UInt16(9))
            builder.repairSum()
        },
        VectorCase("header-slot-count-2-empty-slot", "damaged header invalid(VaultFormat.FormatField.slotType)") {
            builder in
            builder.set(84, integer: UInt16(2))
            builder.repairSum()
        },
        VectorCase("header-slot-size", "damaged header invalid(VaultFormat.FormatField.slotSize)") { builder in
            builder.set(86, integer: UInt16(128))
            builder.repairSum()
        },
        VectorCase("header-unused-slot-not-zero", "damaged header invalid(VaultFormat.FormatField.reserved)") {
            builder in
            builder.set(slot + 256 + 9, 1)
            builder.repairSum()
        },
    ]

    private static let slots: [VectorCase] = [
        slotCase("slot-type-unknown", "damaged header invalid(VaultFormat.FormatField.slotType)", 0, UInt8(6)),
        slotCase("slot-kdf-unknown", "damaged header invalid(VaultFormat.FormatField.slotKeyDerivation)", 1, UInt8(3)),
        slotCase("slot-flags", "damaged header invalid(VaultFormat.FormatField.slotFlags)", 2, UInt16(1)),
        slotCase("slot-passes-0", "damaged header outOfBounds(VaultFormat.FormatField.slotPasses)", 4, UInt32(0)),
        slotCase("slot-passes-65", "damaged header outOfBounds(VaultFormat.FormatField.slotPasses)", 4, UInt32(65)),
        slotCase("slot-passes-max", "damaged header outOfBounds(VaultFormat.FormatField.slotPasses)", 4, UInt32.max),
        slotCase(
            "slot-memory-below-8-MiB", "damaged header outOfBounds(VaultFormat.FormatField.slotMemory)", 8,
            UInt64(8 << 20) - 1024),
        slotCase(
            "slot-memory-above-4-GiB", "damaged header outOfBounds(VaultFormat.FormatField.slotMemory)", 8,
            UInt64(4 << 30) + 1024),
        slotCase("slot-memory-max", "damaged header outOfBounds(VaultFormat.FormatField.slotMemory)", 8, UInt64.max),
        slotCase(
            "slot-memory-not-a-multiple-of-1024", "damaged header outOfBounds(VaultFormat.FormatField.slotMemory)", 8,
            UInt64(8 << 20) + 1),
        VectorCase("slot-cost-product", "damaged header outOfBounds(VaultFormat.FormatField.slotMemory)") { builder in
            builder.set(slot + 4, integer: UInt32(5))
            builder.set(slot + 8, integer: UInt64(4 << 30))
            builder.repairSum()
        },
        slotCase("slot-passes-changed", "wrong passphrase", 4, UInt32(2)),
        slotCase("slot-id-changed", "wrong passphrase", 16, UInt8(7)),
        slotCase("slot-salt-changed", "wrong passphrase", 32, UInt8(7)),
        slotCase("slot-commitment-changed", "wrong passphrase", 48, UInt8(7)),
        slotCase("slot-nonce-changed", "damaged key slot", 80, UInt8(7)),
        slotCase("slot-box-changed", "damaged key slot", 104, UInt8(7)),
        slotCase("slot-name-too-long", "damaged header invalid(VaultFormat.FormatField.slotName)", 184, UInt8(33)),
        slotCase("slot-name-not-utf8", "damaged header invalid(VaultFormat.FormatField.slotName)", 185, UInt8(0xff)),
        slotCase("slot-name-padding", "damaged header invalid(VaultFormat.FormatField.slotName)", 216, UInt8(1)),
        slotCase(
            "slot-provider-on-passphrase", "damaged header invalid(VaultFormat.FormatField.slotExternal)", 217,
            UInt16(1)),
        slotCase("slot-reserved", "damaged header invalid(VaultFormat.FormatField.reserved)", 255, UInt8(1)),
        VectorCase("slot-of-another-type-alone", "no matching slot") { builder in
            builder.set(slot, 5)
            builder.repairSum()
        },
        VectorCase("slot-two-key-box", "wrong passphrase") { builder in
            // A box that opens under two keys, in a slot whose commitment belongs to neither key: the slot does not
            // open, and an attacker does not learn which passphrase would have fitted.
            let box = try TwoKeyBox()
            builder.replace(slot + 80..<slot + 104, with: box.nonce)
            builder.replace(slot + 104..<slot + 184, with: box.box)
            builder.replace(slot + 48..<slot + 80, with: [UInt8](repeating: 0xA5, count: 32))
            builder.repairSum()
        },
    ]

    private static func slotCase<I: FixedWidthInteger & UnsignedInteger & Sendable>(
        _ name: String, _ expect: String, _ offset: Int, _ value: I
    ) -> VectorCase {
        VectorCase(name, expect) { builder in
            builder.set(slot + offset, integer: value)
            builder.repairSum()
        }
    }
}

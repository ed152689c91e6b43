// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultStorage

private let slot = Layout.slotsOffset
private let good = "success one again, two, three"

extension VectorCase {
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
            // A box that opens under two keys, in a slot whose commitment belongs to neither: nothing is opened, and
            // nobody learns which passphrase would have fitted.
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

    private static let marks: [VectorCase] = [
        VectorCase("mark-a-destroyed", good) { $0.destroyMark(0) },
        VectorCase("mark-b-destroyed", good) { $0.destroyMark(1) },
        VectorCase("marks-destroyed", "damaged marks") { builder in
            builder.destroyMark(0)
            builder.destroyMark(1)
        },
        VectorCase("marks-mac", "damaged marks") { builder in
            builder.flip(4096 + 100)
            builder.flip(8192 + 100)
        },
        VectorCase("marks-padding", "damaged marks") { builder in
            builder.set(4096 + 4095, 1)
            builder.set(8192 + 128, 1)
        },
        VectorCase("marks-of-another-vault", "damaged marks") { builder in
            let other = try VaultBuilder(seed: "another")
            builder.replace(4096..<12288, with: Array(other.bytes[4096..<12288]))
        },
        VectorCase("mark-older-only", good) { builder in
            let positions = try builder.positions()
            try builder.mark(0, positions[1])
            builder.destroyMark(1)
        },
        VectorCase("mark-names-nothing-that-is-there", "damaged missing commits 4 of 5") { builder in
            var position = try builder.positions()[4]
            position.sequence = 5
            try builder.mark(0, position)
        },
        VectorCase("mark-offset-differs", "damaged mark mismatch") { builder in
            var position = try builder.positions()[4]
            position.end += 16
            try builder.mark(0, position)
            try builder.mark(1, position)
        },
        VectorCase("mark-tag-differs", "damaged mark mismatch") { builder in
            var position = try builder.positions()[4]
            position.tag = Digest()
            try builder.mark(0, position)
            try builder.mark(1, position)
        },
        VectorCase("truncated-by-one-byte", "damaged missing commits 3 of 4") { $0.cut(to: $0.bytes.count - 1) },
        VectorCase("truncated-by-a-frame", "damaged missing commits 3 of 4") { $0.cut(to: $0.frames[3].lowerBound) },
        VectorCase("truncated-to-the-marks", "damaged missing commits 0 of 4") { $0.cut(to: 12288) },
        VectorCase("torn-tail-beyond-the-mark", "success one, two, three") { builder in
            let positions = try builder.positions()
            try builder.mark(0, positions[2])
            try builder.mark(1, positions[3])
            builder.cut(to: builder.bytes.count - 20)
        },
        VectorCase("torn-value-beyond-the-mark", "success one, two, three") { builder in
            let positions = try builder.positions()
            try builder.mark(0, positions[2])
            try builder.mark(1, positions[3])
            builder.flip(builder.bytes.count - 60)
        },
        VectorCase("whole-commit-beyond-the-mark", good) { builder in
            let positions = try builder.positions()
            try builder.mark(0, positions[2])
            try builder.mark(1, positions[3])
        },
    ]

    private static let frames: [VectorCase] = [
        VectorCase("frame-length-odd", "damaged missing commits 0 of 4") { $0.set($0.frames[0].lowerBound, 1) },
        VectorCase("frame-length-max", "damaged missing commits 0 of 4") {
            $0.set($0.frames[0].lowerBound, integer: UInt32.max)
        },
        VectorCase("frame-length-zero", "damaged missing commits 0 of 4") {
            $0.set($0.frames[0].lowerBound, integer: UInt32(0))
        },
        VectorCase("frame-sequence-gap", "damaged missing commits 1 of 4") {
            $0.set($0.frames[1].lowerBound + 8, integer: UInt64(3))
        },
        VectorCase("frame-metadata-length", "damaged missing commits 0 of 4") {
            $0.set($0.frames[0].lowerBound + 16, integer: UInt32.max)
        },
        VectorCase("frame-value-length", "damaged missing commits 0 of 4") {
            $0.set($0.frames[0].lowerBound + 20, integer: UInt32.max)
        },
        VectorCase("frame-metadata-changed", "damaged missing commits 1 of 4") {
            $0.flip($0.frames[1].lowerBound + 100)
        },
        VectorCase("frame-chain-tag-changed", "damaged missing commits 1 of 4") { builder in
            let frame = builder.frames[1].lowerBound
            builder.flip(frame + 80 + Int(builder.bytes.span.integer(at: frame + 16, as: UInt32.self)))
        },
        VectorCase("frame-value-changed", "damaged value") { $0.flip($0.frames[1].upperBound - 30) },
        VectorCase("frame-value-tag-changed", "damaged value") { $0.flip($0.frames[1].upperBound - 75) },
        VectorCase("frame-dead-value-changed", "damaged values of frame 1") { $0.flip($0.frames[0].upperBound - 30) },
        VectorCase("frame-removed", "damaged missing commits 1 of 4") { builder in
            builder.replace(builder.frames[1], with: [])
        },
        VectorCase("frame-doubled", "damaged missing commits 2 of 4") { builder in
            let frame = builder.frames[1]
            builder.replace(frame.upperBound..<frame.upperBound, with: Array(builder.bytes[frame]))
        },
        VectorCase("frames-swapped", "damaged missing commits 1 of 4") { builder in
            let (a, b) = (Array(builder.bytes[builder.frames[1]]), Array(builder.bytes[builder.frames[2]]))
            builder.replace(builder.frames[1].lowerBound..<builder.frames[2].upperBound, with: b + a)
        },
        VectorCase("frame-of-another-vault", "damaged missing commits 1 of 4") { builder in
            let other = try VaultBuilder(seed: "another")
            builder.replace(builder.frames[1], with: Array(other.bytes[other.frames[1]]))
        },
        VectorCase("frame-of-another-generation", "damaged missing commits 5 of 6") { builder in
            let old = builder
            builder = try builder.compacted()
            // The last frame of the older generation behind the only one of the newer, where the mark wants a commit.
            builder.replace(builder.bytes.count..<builder.bytes.count, with: Array(old.bytes[old.frames[3]]))
            var position = try builder.positions()[1]
            position.sequence += 1
            try builder.mark(0, position)
        },
        VectorCase("value-of-the-same-item-put-back", "damaged value") { builder in
            // The older box of the first item in the place of the newer: both are sealed for this item, but not for
            // this version.
            let (old, new) = (builder.frames[0].upperBound, builder.frames[3].upperBound)
            builder.replace(new - 104..<new, with: Array(builder.bytes[old - 104..<old]))
        },
    ]

    private static let metadata: [VectorCase] = [
        VectorCase("frame-version-2", "unsupported frameVersion") { builder in
            try builder.rewriteLastFrame { _, head, _ in head.version = 2 }
        },
        VectorCase("frame-flags-unknown", "damaged frame 4 invalid(VaultFormat.FormatField.frameFlags)") { builder in
            try builder.rewriteLastFrame { _, head, _ in head.flags = 3 }
        },
        VectorCase("frame-without-commit-flag", "damaged mark mismatch") { builder in
            try builder.rewriteLastFrame { _, head, _ in head.flags = 0 }
        },
        VectorCase("metadata-generation", "damaged frame 4 invalid(VaultFormat.FormatField.frameSequence)") { builder in
            try builder.rewriteLastFrame { plain, _, _ in plain[4] = 9 }
        },
        VectorCase("metadata-sequence", "damaged frame 4 invalid(VaultFormat.FormatField.frameSequence)") { builder in
            try builder.rewriteLastFrame { plain, _, _ in plain[12] = 9 }
        },
        VectorCase("metadata-no-operations", "damaged frame 4 invalid(VaultFormat.FormatField.operationCount)") {
            builder in
            try builder.rewriteLastFrame { plain, _, _ in plain[20] = 0 }
        },
        VectorCase("metadata-one-operation-too-many", "damaged frame 4 truncated(VaultFormat.FormatField.metadata)") {
            builder in
            try builder.rewriteLastFrame { plain, _, _ in plain[20] = 2 }
        },
        VectorCase("metadata-reserved", "damaged frame 4 invalid(VaultFormat.FormatField.reserved)") { builder in
            try builder.rewriteLastFrame { plain, _, _ in plain[22] = 1 }
        },
        VectorCase("metadata-padding-not-zero", "damaged frame 4 invalid(VaultFormat.FormatField.padding)") { builder in
            try builder.rewriteLastFrame { plain, _, _ in plain[plain.count - 1] = 1 }
        },
        VectorCase("metadata-padding-too-long", "damaged frame 4 invalid(VaultFormat.FormatField.padding)") { builder in
            try builder.rewriteLastFrame { plain, _, _ in plain.appendZeros(16) }
        },
        operationCase("operation-kind-unknown", "unsupported operationKind", 0, UInt8(4)),
        operationCase(
            "operation-class-unknown", "damaged frame 4 invalid(VaultFormat.FormatField.itemClass)", 1, UInt8(5)),
        operationCase(
            "operation-protection-unknown", "damaged frame 4 invalid(VaultFormat.FormatField.protection)", 2, UInt8(8)),
        operationCase(
            "operation-flags-unknown", "damaged frame 4 invalid(VaultFormat.FormatField.operationFlags)", 3, UInt8(2)),
        operationCase(
            "operation-attributes-length", "damaged frame 4 outOfBounds(VaultFormat.FormatField.attributes)", 4,
            UInt32.max),
        VectorCase("operation-version-not-risen", "damaged frame 4 invalid(VaultFormat.FormatField.version)") {
            builder in
            try builder.rewriteLastOperation { plain, start in
                plain[start + 24] = 1
                plain[start + 32] = 1
            }
        },
        operationCase(
            "operation-value-version-above-version", "damaged frame 4 outOfBounds(VaultFormat.FormatField.value)", 32,
            UInt64(99)),
        operationCase(
            "operation-date-not-finite", "damaged frame 4 invalid(VaultFormat.FormatField.date)", 48,
            UInt64(0x7ff0_0000_0000_0000)),
        operationCase(
            "operation-value-beyond-the-frame", "damaged frame 4 outOfBounds(VaultFormat.FormatField.value)", 64,
            UInt64(1 << 40)),
        operationCase(
            "operation-value-offset-max", "damaged frame 4 outOfBounds(VaultFormat.FormatField.value)", 64,
            UInt64(Int64.max)),
        operationCase(
            "operation-value-in-the-header", "damaged frame 4 outOfBounds(VaultFormat.FormatField.value)", 64,
            UInt64(4096)),
        operationCase(
            "operation-value-length", "damaged frame 4 outOfBounds(VaultFormat.FormatField.value)", 72, UInt32.max),
        operationCase("operation-value-tag", "damaged value", 76, UInt8(0x77)),
        operationCase(
            "operation-device-on-any-device", "damaged frame 4 invalid(VaultFormat.FormatField.protection)", 92,
            UInt8(1)),
        operationCase("attribute-critical-unknown", "unsupported attributeTag", 108, UInt16(0x8010)),
        operationCase(
            "attribute-kind", "damaged frame 4 invalid(VaultFormat.FormatField.attributeKind)", 110, UInt8(9)),
        operationCase(
            "attribute-length", "damaged frame 4 truncated(VaultFormat.FormatField.attributes)", 111, UInt32(1000)),
        operationCase(
            "attribute-not-utf8", "damaged frame 4 invalid(VaultFormat.FormatField.attributeValue)", 115, UInt8(0xff)),
        operationCase("attribute-unknown-tag", good, 108, UInt16(0x0fff)),
    ]

    /// The last operation's value is "one again": its main part is what the fields leave of it.
    private static let fields: [VectorCase] = [
        fieldsCase("fields", "success one again, two, three", [("otp", 2), ("pin", 3)]),
        fieldsCase("fields-all-of-the-value", "success one again, two, three", [("otp", 9)]),
        fieldsCase("fields-beyond-the-value", "damaged value", [("otp", 2), ("pin", 8)]),
        fieldsCase("fields-length-max", "damaged value", [("otp", UInt32.max), ("pin", UInt32.max)]),
        fieldsCase("fields-unsorted", badFields, [("pin", 2), ("otp", 3)]),
        fieldsCase("fields-doubled", badFields, [("otp", 2), ("otp", 3)]),
        fieldsCase("fields-one-text-twice", badFields, [("e\u{301}", 1), ("\u{e9}", 1)]),
        fieldsCase("fields-name-empty", badFields, [("", 2)]),
        fieldsCase("fields-name-control-character", badFields, [("a\nb", 2)]),
        fieldsCase("fields-name-c1-control-character", badFields, [("a\u{9b}b", 2)]),
        fieldsCase("fields-none", badFields, []),
        VectorCase("fields-name-not-utf8", badFields) { builder in
            try builder.appendToLastOperation(.fields, kind: 2, [1, 0xff, 1, 0, 0, 0])
        },
        VectorCase("fields-cut-short", "damaged frame 4 truncated(VaultFormat.FormatField.fields)") { builder in
            try builder.appendToLastOperation(.fields, kind: 2, [3, 0x6f, 0x74, 0x70, 1, 0, 0])
        },
        VectorCase("fields-kind", "damaged frame 4 invalid(VaultFormat.FormatField.attributeKind)") { builder in
            try builder.appendToLastOperation(.fields, kind: 1, encoded([("otp", 2)]))
        },
        VectorCase("fields-without-a-value", badFields) { builder in
            try builder.appendToLastOperation(.fields, kind: 2, encoded([("otp", 0)]))
            try builder.rewriteLastFrame { plain, _, area in
                let start = 4 + Layout.metadataHeadLength
                plain[start + 3] = 0
                for offset in [start + 32..<start + 40, start + 64..<start + 92].joined() { plain[offset] = 0 }
                area = []
            }
        },
        // Of this device only: sealed under the secret of a device that the reader is not.
        VectorCase("fields-of-another-device", "noStateDirectory") { builder in
            try builder.appendToLastOperation(.fields, kind: 2, encoded([("otp", 2)]))
            try builder.rewriteLastOperation { plain, start in
                plain[start + 2] = Accessibility.whenUnlockedThisDeviceOnly.number
                for offset in start + 92..<start + 108 { plain[offset] = 7 }
            }
        },
    ]

    private static let badFields = "damaged frame 4 invalid(VaultFormat.FormatField.fields)"

    private static func encoded(_ fields: [(String, UInt32)]) -> [UInt8] {
        fields.flatMap { name, length in
            var bytes = [UInt8(name.utf8.count)] + name.utf8
            bytes.append(integer: length)
            return bytes
        }
    }

    private static func fieldsCase(_ name: String, _ expect: String, _ fields: [(String, UInt32)]) -> VectorCase {
        VectorCase(name, expect) { builder in
            try builder.appendToLastOperation(.fields, kind: 2, encoded(fields))
        }
    }

    private static func operationCase<I: FixedWidthInteger & UnsignedInteger & Sendable>(
        _ name: String, _ expect: String, _ offset: Int, _ value: I
    ) -> VectorCase {
        VectorCase(name, expect) { builder in
            try builder.rewriteLastOperation { plain, start in
                for index in 0..<MemoryLayout<I>.size {
                    plain[start + offset + index] = UInt8(truncatingIfNeeded: value >> I(8 * index))
                }
            }
        }
    }
}

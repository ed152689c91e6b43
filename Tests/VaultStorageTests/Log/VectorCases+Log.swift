// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultStorage

extension VectorCase {
    static let marks: [VectorCase] = [
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

    static let frames: [VectorCase] = [
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
            // The last frame of the older generation after the only frame of the newer, where the mark expects a
            // commit.
            builder.replace(builder.bytes.count..<builder.bytes.count, with: Array(old.bytes[old.frames[3]]))
            var position = try builder.positions()[1]
            position.sequence += 1
            try builder.mark(0, position)
        },
        VectorCase("value-of-the-same-item-put-back", "damaged value") { builder in
            // The older box of the first item in place of the newer: both are sealed for this item, but the older for
            // another version.
            let (old, new) = (builder.frames[0].upperBound, builder.frames[3].upperBound)
            builder.replace(new - 104..<new, with: Array(builder.bytes[old - 104..<old]))
        },
    ]

    static let metadata: [VectorCase] = [
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

    /// The last operation's value is "one again", without the part that the fields take.
    static let fields: [VectorCase] = [
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
        // An item of this device only, sealed under the secret of a device other than the reader.
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

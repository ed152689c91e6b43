// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// The two marks as a file has them; nil where one is not valid.
struct Marks {
    private(set) var found: [LogPosition?] = []
    /// The bytes of each, without the zeros behind.
    private var heads: [[UInt8]] = []

    /// From the first mark to the end of the second one's bytes.
    static let headsLength = Layout.markOffsets[1] - Layout.markOffsets[0] + CommitMark.length

    /// Nil: the file is too short to have marks.
    init?(of file: any VaultFile, generation: UInt64, keys: borrowing GenerationKeys) throws(Errno) {
        let length = Layout.firstFrame - Layout.markOffsets[0]
        let bytes = try file.read(length, at: Layout.markOffsets[0])
        guard bytes.count == length else { return nil }
        self.init(bytes.span, generation: generation, keys: keys)
    }

    private init(_ bytes: Span<UInt8>, generation: UInt64, keys: borrowing GenerationKeys) {
        for offset in Layout.markOffsets {
            let start = offset - Layout.markOffsets[0]
            let area = bytes.extracting(start..<start + Layout.markAreaLength)
            heads.append(area.array(0..<CommitMark.length))
            let mac = keys.markMAC(area.extracting(0..<CommitMark.macOffset))
            guard isEqualInConstantTime(mac.bytes.span, area.extracting(CommitMark.macOffset..<CommitMark.length)),
                let mark = try? CommitMark(parsing: area), mark.generation == generation
            else {
                found.append(nil)
                continue
            }
            found.append(LogPosition(sequence: mark.sequence, end: Int(mark.end), tag: Digest(mark.chainTag.span)))
        }
    }

    /// Whether the file's ``headsLength`` bytes have the same marks, which need no second check then.
    func areStill(_ bytes: Span<UInt8>) -> Bool {
        zip(Layout.markOffsets, heads).allSatisfy { offset, head in
            let start = offset - Layout.markOffsets[0]
            return head.span.elementsEqual(bytes.extracting(start..<start + CommitMark.length))
        }
    }

    /// The marks after the older one was written.
    func replacingOlder(with head: [UInt8], naming position: LogPosition) -> Marks {
        var marks = self
        let index = isFirstOlder ? 0 : 1
        marks.found[index] = position
        marks.heads[index] = head
        return marks
    }

    /// The newest, below which nothing may be missing.
    var highest: LogPosition? { found.compactMap(\.self).max { $0.sequence < $1.sequence } }

    /// The offset of the older one, an invalid one counting as older still.
    var olderOffset: Int { Layout.markOffsets[isFirstOlder ? 0 : 1] }

    var newerOffset: Int { Layout.markOffsets[isFirstOlder ? 1 : 0] }

    /// The newer one as it was read.
    var newer: [UInt8] { heads[isFirstOlder ? 1 : 0] }

    private var isFirstOlder: Bool {
        guard let first = found[0] else { return true }
        guard let second = found[1] else { return false }
        return first.sequence <= second.sequence
    }

    /// Header and marks of a file whose only commit, or whose start, this is.
    static func page(_ page: HeaderPage, naming position: LogPosition, keys: borrowing GenerationKeys) -> [UInt8] {
        var bytes = page.bytes
        for _ in Layout.markOffsets {
            bytes += encode(position, generation: page.header.generation, clean: true, keys: keys)
            bytes.appendZeros(Layout.markAreaLength - CommitMark.length)
        }
        return bytes
    }

    static func encode(_ position: LogPosition, generation: UInt64, clean: Bool, keys: borrowing GenerationKeys) -> [UInt8] {
        let mark = CommitMark(
            generation: generation, sequence: position.sequence, end: UInt64(position.end), chainTag: position.tag.bytes.span.array(0..<32),
            cleanClose: clean)
        var bytes = mark.encoded()
        bytes.append(keys.markMAC(bytes.span).bytes)
        return bytes
    }
}

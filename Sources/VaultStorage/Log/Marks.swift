// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// The two marks of a file; `nil` for an invalid one.
struct Marks {
    private struct Mark {
        /// `nil` if the mark is invalid.
        var position: LogPosition?
        /// The mark's bytes, without the zeros that follow.
        var head: [UInt8]

        init(_ area: Span<UInt8>, generation: UInt64, keys: borrowing GenerationKeys) {
            head = area.array(0..<CommitMark.length)
            let mac = keys.markMAC(area.extracting(0..<CommitMark.macOffset))
            guard isEqualInConstantTime(mac.bytes.span, area.extracting(CommitMark.macOffset..<CommitMark.length)),
                let mark = try? CommitMark(parsing: area), mark.generation == generation
            else { return }
            position = LogPosition(sequence: mark.sequence, end: Int(mark.end), tag: Digest(mark.chainTag.span))
        }
    }

    private var first: Mark
    private var second: Mark

    /// The length from the first mark to the end of the second one's bytes.
    static let headsLength = Layout.markOffsets[1] - Layout.markOffsets[0] + CommitMark.length

    /// Returns `nil` if the file is too short to have marks.
    init?(of file: any VaultFile, generation: UInt64, keys: borrowing GenerationKeys) throws(Errno) {
        let length = Layout.firstFrame - Layout.markOffsets[0]
        let bytes = try file.read(length, at: Layout.markOffsets[0])
        guard bytes.count == length else { return nil }
        let span = bytes.span
        first = Mark(span.extracting(0..<Layout.markAreaLength), generation: generation, keys: keys)
        second = Mark(
            span.extracting(Marks.distance..<Marks.distance + Layout.markAreaLength), generation: generation, keys: keys
        )
    }

    private static let distance = Layout.markOffsets[1] - Layout.markOffsets[0]

    /// The position in each mark.
    var found: [LogPosition?] { [first.position, second.position] }

    func bothName(_ position: LogPosition) -> Bool { first.position == position && second.position == position }

    /// Whether the file's ``headsLength`` bytes contain the same marks, which then need no second check.
    func areStill(_ bytes: Span<UInt8>) -> Bool {
        first.head.span.elementsEqual(bytes.extracting(0..<CommitMark.length))
            && second.head.span.elementsEqual(bytes.extracting(Marks.distance..<Marks.distance + CommitMark.length))
    }

    /// Records that the older mark was written.
    mutating func replaceOlder(with head: [UInt8], naming position: LogPosition) {
        if isFirstOlder {
            (first.head, first.position) = (head, position)
        } else {
            (second.head, second.position) = (head, position)
        }
    }

    /// The newest position, below which nothing may be missing.
    var highest: LogPosition? {
        guard let first = first.position else { return second.position }
        guard let second = second.position, second.sequence > first.sequence else { return first }
        return second
    }

    /// The offset of the older mark; an invalid mark counts as older.
    var olderOffset: Int { Layout.markOffsets[isFirstOlder ? 0 : 1] }

    var newerOffset: Int { Layout.markOffsets[isFirstOlder ? 1 : 0] }

    /// The bytes of the newer mark.
    var newer: [UInt8] { isFirstOlder ? second.head : first.head }

    private var isFirstOlder: Bool {
        guard let first = first.position else { return true }
        guard let second = second.position else { return false }
        return first.sequence <= second.sequence
    }

    /// Header and marks of a file whose only commit, or initial state, is at the position.
    static func page(_ page: HeaderPage, naming position: LogPosition, keys: borrowing GenerationKeys) -> [UInt8] {
        var bytes = page.bytes
        for _ in Layout.markOffsets {
            bytes += encode(position, generation: page.header.generation, clean: true, keys: keys)
            bytes.appendZeros(Layout.markAreaLength - CommitMark.length)
        }
        return bytes
    }

    static func encode(_ position: LogPosition, generation: UInt64, clean: Bool, keys: borrowing GenerationKeys)
        -> [UInt8]
    {
        let mark = CommitMark(
            generation: generation, sequence: position.sequence, end: UInt64(position.end),
            chainTag: position.tag.bytes.span.array(0..<32),
            cleanClose: clean)
        var bytes = mark.encoded()
        bytes.append(keys.markMAC(bytes.span).bytes)
        return bytes
    }
}

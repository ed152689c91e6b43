// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The name of a record's file, or of a second record at the same address: Syncthing renames one of two files that have
/// the same name.
struct RecordName: Comparable {
    let sequence: UInt64
    /// The rest of the name after the number; empty unless this is a second record.
    let suffix: String

    init(_ sequence: UInt64) { (self.sequence, suffix) = (sequence, "") }

    /// Fails for the name of anything but a record.
    init?(_ name: String) {
        var sequence: UInt64 = 0
        let utf8 = name.utf8
        guard utf8.count >= 16 else { return nil }
        for digit in utf8.prefix(16) {
            guard let value = hexadecimalValue(of: digit) else { return nil }
            sequence = sequence << 4 | UInt64(value)
        }
        guard RecordAddress.sequences.contains(sequence) else { return nil }
        self.sequence = sequence
        guard utf8.count > 16 else {
            suffix = ""
            return
        }
        suffix = String(decoding: utf8.dropFirst(16), as: UTF8.self)
        // Decoding changes a suffix that is not UTF-8, so only plain ASCII is accepted.
        guard suffix.hasPrefix(Self.conflict), suffix.utf8.dropFirst(Self.conflict.utf8.count).allSatisfy(Self.isPlain)
        else { return nil }
    }

    var text: String { Self.digits(sequence) + suffix }

    var isConflict: Bool { !suffix.isEmpty }

    static func < (a: RecordName, b: RecordName) -> Bool { (a.sequence, a.suffix) < (b.sequence, b.suffix) }

    /// Whether a name is `.tmp-` and sixteen digits: a file that its writer did not finish.
    static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(temporary) && name.utf8.count == temporary.utf8.count + 16
            && name.utf8.dropFirst(temporary.utf8.count).allSatisfy { hexadecimalValue(of: $0) != nil }
    }

    static let temporary = ".tmp-"
    private static let conflict = ".sync-conflict-"

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") }
}

/// The lowest names of a folder of any size. All names of an address are included, or none.
struct LowestRecordNames {
    /// The most conflicting names that are read for an address. A second record already proves a fork.
    static let conflictsPerAddress = 8

    private let capacity: Int
    private var names: [RecordName] = []
    /// Names with this number or a higher one are left for another pass.
    private var ceiling: UInt64?

    init(capacity: Int) { self.capacity = max(capacity, Self.conflictsPerAddress + 1) }

    mutating func insert(_ name: RecordName) {
        if let ceiling, name.sequence >= ceiling { return }
        names.append(name)
        if names.count >= 2 * capacity { reduce() }
    }

    consuming func sorted() -> [RecordName] {
        reduce()
        return names
    }

    private mutating func reduce() {
        var address: UInt64 = 0
        var conflicts = 0
        names = names.sorted().filter { name in
            if name.sequence != address { (address, conflicts) = (name.sequence, 0) }
            if name.isConflict { conflicts += 1 }
            return conflicts <= Self.conflictsPerAddress
        }
        guard names.count > capacity else { return }
        let first = names[capacity].sequence
        ceiling = first
        names.removeLast(names.count - (names.firstIndex { $0.sequence == first } ?? capacity))
    }
}

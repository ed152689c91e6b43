// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The name of a file that is a record, or a second one at the same address: what Syncthing makes of two files of one
/// name.
struct RecordName: Comparable {
    let sequence: UInt64
    /// What follows the number in the name of a second record.
    let suffix: String

    init(_ sequence: UInt64) { (self.sequence, suffix) = (sequence, "") }

    /// Nil: no record has such a name.
    init?(_ name: String) {
        var sequence: UInt64 = 0
        let utf8 = name.utf8
        guard utf8.count >= 16 else { return nil }
        for digit in utf8.prefix(16) {
            guard let value = Self.value(digit) else { return nil }
            sequence = sequence << 4 | UInt64(value)
        }
        guard RecordAddress.sequences.contains(sequence) else { return nil }
        self.sequence = sequence
        guard utf8.count > 16 else {
            suffix = ""
            return
        }
        suffix = String(decoding: utf8.dropFirst(16), as: UTF8.self)
        // Of a name that is not UTF-8 this would be another name.
        guard suffix.hasPrefix(Self.conflict), suffix.utf8.dropFirst(Self.conflict.utf8.count).allSatisfy(Self.isPlain)
        else { return nil }
    }

    var text: String { Self.digits(sequence) + suffix }

    var isConflict: Bool { !suffix.isEmpty }

    static func < (a: RecordName, b: RecordName) -> Bool { (a.sequence, a.suffix) < (b.sequence, b.suffix) }

    /// `.tmp-` and sixteen digits: what a writer had not finished when it ended.
    static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(temporary) && name.utf8.count == temporary.utf8.count + 16
            && name.utf8.dropFirst(temporary.utf8.count).allSatisfy { value($0) != nil }
    }

    static let temporary = ".tmp-"
    private static let conflict = ".sync-conflict-"

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

/// The lowest names of a folder, however many there are in it: all of an address, or none.
struct LowestRecordNames {
    /// More than one alike is read to show that there is more than one; these are enough.
    static let conflictsPerAddress = 8

    private let capacity: Int
    private var names: [RecordName] = []
    /// What is here or higher is left for another look.
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

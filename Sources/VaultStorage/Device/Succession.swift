// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The anchor keys that rekeys have replaced, each with the newest state at the time. They verify anchors made before a
/// rekey, and a file that lacks an anchor's key was not made after that anchor.
///
/// Stored as the value of a record of class 0, readable after the first unlock: `{ K_anchor 32, generation u64,
/// sequence u64 }`, newest first.
struct Succession: ~Copyable {
    static let mostEntries = 64
    private static let entryLength = 48

    private let entries: SecretBytes

    /// - Throws: `.damaged(.value)` for a value that is not such a list.
    init(_ value: consuming SecretBytes, of id: ItemID) throws(StorageError) {
        guard value.count % Self.entryLength == 0, value.count <= Self.mostEntries * Self.entryLength else {
            throw .damaged(.value(id))
        }
        entries = value
    }

    /// Whether the anchor was made with one of the keys and names no later state than the one recorded with that key.
    func passes(_ found: FoundAnchor) throws(StorageError) -> Bool {
        for start in stride(from: 0, to: entries.count, by: Self.entryLength) {
            let key = try secured(entries.copy(of: start..<start + 32))
            guard found.isSigned(by: key) else { continue }
            let (generation, sequence): (UInt64, UInt64) = entries.withBytes {
                ($0.integer(at: start + 32), $0.integer(at: start + 40))
            }
            return found.anchor.generation <= generation && found.anchor.sequence <= sequence
        }
        return false
    }

    /// The value of the record after another key was replaced.
    ///
    /// - Parameter older: the previous value; empty for none.
    static func adding(
        _ key: borrowing SecretBytes, generation: UInt64, sequence: UInt64, to older: borrowing SecretBytes
    ) throws(CryptoError) -> SecretBytes {
        let kept = min(older.count, (mostEntries - 1) * entryLength)
        var value = try SecretBytes(zeroed: entryLength + kept)
        var numbers: [UInt8] = []
        numbers.append(integer: generation)
        numbers.append(integer: sequence)
        key.withBytes { value.replace(at: 0, with: $0) }
        value.replace(at: 32, with: numbers.span)
        older.withBytes { value.replace(at: entryLength, with: $0.extracting(0..<kept)) }
        return value
    }
}

extension VaultStore {
    /// Returns `nil` if the vault was never rekeyed.
    func succession() throws(StorageError) -> Succession? {
        guard let record = record(of: .succession), let value = try openValue(of: record) else { return nil }
        return try Succession(value, of: record.id)
    }
}

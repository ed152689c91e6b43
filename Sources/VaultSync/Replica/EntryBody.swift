// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Parses the opened bytes of an entry. No other state is read, so any thread can do this.
enum EntryBody {
    /// - Parameter withItems: whether the items are parsed.
    static func parse(
        _ content: borrowing SecretBytes, at address: RecordAddress, withItems: Bool
    ) throws(Obstacle) -> LogEntry<Range<Int>> {
        let length = try checking { () throws(SyncError) in try RecordSealer.bodyLength(content, address) }
        do throws(FormatError) {
            return try content.withBytes { body throws(FormatError) in
                try LogEntry(parsing: body.extracting(0..<length), withItems: withItems)
            }
        } catch { throw .stops(address.alarm(.damaged, "a malformed entry")) }
    }

    /// Parses the items of an entry, with their secrets.
    static func items(of content: Secret, at address: RecordAddress) throws(Obstacle) -> [ItemState<Secret>] {
        let entry = try parse(content.bytes, at: address, withItems: true)
        var states: [ItemState<Secret>] = []
        states.reserveCapacity(entry.items.count)
        do throws(CryptoError) {
            for item in entry.items {
                states.append(try item.map { range throws(CryptoError) in Secret(try content.bytes.copy(of: range)) })
            }
        } catch { throw .fails(secure(error)) }
        return states
    }
}

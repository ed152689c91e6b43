// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat
internal import VaultStorage

/// Numbers that two devices compare to find out whether they agree. A word is the first 8 bytes of BLAKE2b-256("VLT1
/// sum" || x), and sums are modulo 2^64.
package enum Sums {
    fileprivate static let label = Array("VLT1 sum".utf8)

    /// - Parameter message: the label, then the data.
    fileprivate static func word(_ message: Span<UInt8>) -> UInt64 {
        KeyedHash.digest(message).bytes.span.integer(at: 0)
    }

    /// Returns the word of one head.
    static func word(_ log: LogID, _ sequence: UInt64) -> UInt64 {
        var message = label
        message.append(log.bytes)
        message.append(integer: sequence)
        return word(message.span)
    }

    /// The first 8 bytes of BLAKE2b-256(sorted open logs || sorted devices).
    static func logset(_ logs: some Sequence<LogID>, _ devices: some Sequence<DeviceID>) -> UInt64 {
        var hash = KeyedHash()
        for name in logs.sorted() + devices.sorted() { hash.update(name.bytes.span) }
        return hash.digest().bytes.span.integer(at: 0)
    }
}

/// The sum of the words of all items. There are several words for each item, so other processors share the hashing.
package struct ItemSum {
    /// The number of words that one thread makes at a time.
    private static let lotLength = 4096
    /// The length in bytes of the message of a value without a name.
    private static let usualLength = 52

    private var lot = Lot()
    private var lots: [Later<UInt64>] = []

    private struct Lot: Sendable {
        var messages: [UInt8] = []
        var ends: [Int] = []

        init() {
            messages.reserveCapacity(lotLength * usualLength)
            ends.reserveCapacity(lotLength)
        }

        var sum: UInt64 {
            var (sum, start): (UInt64, Int) = (0, 0)
            for end in ends {
                sum &+= Sums.word(messages.span.extracting(start..<end))
                start = end
            }
            return sum
        }
    }

    package init() {}

    /// Adds the word of one live value.
    package mutating func add(_ id: ItemID, _ field: FieldID, _ dot: Dot, isErased: Bool) {
        begin(id)
        lot.messages.append(integer: field.id)
        lot.messages.append(UInt8(truncatingIfNeeded: field.name.utf8.count))
        if !field.name.isEmpty { lot.messages += field.name.utf8 }
        lot.messages.append(dot.log.bytes)
        lot.messages.append(integer: dot.stamp)
        lot.messages.append(isErased ? 0 : 1)
        end()
    }

    /// Adds the word of one shadowed item.
    package mutating func add(_ id: ItemID) {
        begin(id)
        end()
    }

    private mutating func begin(_ id: ItemID) {
        lot.messages += Sums.label
        lot.messages.append(id.bytes)
    }

    private mutating func end() {
        lot.ends.append(lot.messages.count)
        guard lot.ends.count == ItemSum.lotLength else { return }
        lots.append(Later { [lot] in lot.sum })
        lot = Lot()
    }

    package var total: UInt64 { lots.reduce(lot.sum) { $0 &+ $1.value } }
}

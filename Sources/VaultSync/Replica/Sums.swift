// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat

/// Numbers that two devices compare to find out that they have the same.
package enum Sums {
    /// The memory in which words are made: a sum takes a word for each value of each item.
    package struct Scratch {
        private var bytes = Array("VLT1 sum".utf8)
        private let start: Int

        package init() {
            start = bytes.count
            bytes.reserveCapacity(128)
        }

        /// The first 8 bytes of BLAKE2b-256("VLT1 sum" || x), where the body appends x.
        fileprivate mutating func word(_ append: (inout [UInt8]) -> Void) -> UInt64 {
            bytes.removeSubrange(start...)
            append(&bytes)
            return KeyedHash.digest(bytes.span).bytes.span.integer(at: 0)
        }
    }

    /// Of one head.
    static func word(_ log: LogID, _ sequence: UInt64) -> UInt64 {
        var scratch = Scratch()
        return scratch.word { bytes in
            bytes.append(log.bytes)
            bytes.append(integer: sequence)
        }
    }

    /// Of one live value.
    package static func word(
        _ id: ItemID, _ field: FieldID, _ dot: Dot, isErased: Bool, _ scratch: inout Scratch
    ) -> UInt64 {
        scratch.word { bytes in
            bytes.append(id.bytes)
            bytes.append(integer: field.id)
            bytes.append(UInt8(truncatingIfNeeded: field.name.utf8.count))
            if !field.name.isEmpty { bytes += field.name.utf8 }
            bytes.append(dot.log.bytes)
            bytes.append(integer: dot.stamp)
            bytes.append(isErased ? 0 : 1)
        }
    }

    /// Of one shadowed item.
    package static func word(_ id: ItemID, _ scratch: inout Scratch) -> UInt64 {
        scratch.word { $0.append(id.bytes) }
    }

    /// The first 8 bytes of BLAKE2b-256(sorted open logs || sorted devices).
    static func logset(_ logs: some Sequence<LogID>, _ devices: some Sequence<DeviceID>) -> UInt64 {
        var hash = KeyedHash()
        for name in logs.sorted() + devices.sorted() { hash.update(name.bytes.span) }
        return hash.digest().bytes.span.integer(at: 0)
    }
}

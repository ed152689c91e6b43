// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat

/// Numbers that two devices compare to find out that they have the same.
package enum Sums {
    /// The first 8 bytes of BLAKE2b-256("VLT1 sum" || x).
    private static func word(_ update: (inout KeyedHash) -> Void) -> UInt64 {
        var hash = KeyedHash()
        hash.update("VLT1 sum")
        update(&hash)
        return hash.digest().bytes.span.integer(at: 0)
    }

    /// Of one head.
    static func word(_ log: LogID, _ sequence: UInt64) -> UInt64 {
        word { hash in
            hash.update(log.bytes.span)
            hash.update(sequence)
        }
    }

    /// Of one live value.
    package static func word(_ id: ItemID, _ field: FieldID, _ dot: Dot, isErased: Bool) -> UInt64 {
        let name = Array(field.name.utf8)
        return word { hash in
            hash.update(id.bytes.span)
            hash.update(field.id)
            hash.update(UInt8(truncatingIfNeeded: name.count))
            hash.update(name)
            hash.update(dot.log.bytes.span)
            hash.update(dot.stamp)
            hash.update(UInt8(isErased ? 0 : 1))
        }
    }

    /// Of one shadowed item.
    package static func word(_ id: ItemID) -> UInt64 { word { $0.update(id.bytes.span) } }

    /// The first 8 bytes of BLAKE2b-256(sorted open logs || sorted devices).
    static func logset(_ logs: some Sequence<LogID>, _ devices: some Sequence<DeviceID>) -> UInt64 {
        var hash = KeyedHash()
        for name in logs.sorted() + devices.sorted() { hash.update(name.bytes.span) }
        return hash.digest().bytes.span.integer(at: 0)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A 16-byte identifier: of a realm, a device, a log, or a blob. Ordered bytewise.
@usableFromInline package struct Bytes16: Hashable, Comparable, Sendable {
    package static let length = 16
    package static let zero = Bytes16(high: 0, low: 0)

    @usableFromInline let high: UInt64
    @usableFromInline let low: UInt64

    private init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// Reads the first sixteen bytes of the span, which must have as many.
    package init(_ bytes: Span<UInt8>) {
        high = bytes.integer(at: 0, as: UInt64.self).byteSwapped
        low = bytes.integer(at: 8, as: UInt64.self).byteSwapped
    }

    package init(_ bytes: [UInt8]) { self.init(bytes.span) }

    package var bytes: [16 of UInt8] {
        .init { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> UInt64(56 - 8 * ($0 % 8))) }
    }

    @inlinable package static func < (a: Bytes16, b: Bytes16) -> Bool { (a.high, a.low) < (b.high, b.low) }

    /// 32 hexadecimal digits, in lower case.
    package var text: String { digits(high) + digits(low) }

    private func digits(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// - Returns: `nil` for anything that ``text`` does not produce.
    package init?(text: String) {
        let (upper, lower) = (text.prefix(16), text.dropFirst(16))
        guard text.utf8.count == 32, let high = UInt64(upper, radix: 16), let low = UInt64(lower, radix: 16) else {
            return nil
        }
        self.init(high: high, low: low)
        guard self.text == text else { return nil }
    }
}

/// The random name of a fleet's vault.
package typealias RealmID = Bytes16
/// The first 16 bytes of the hash of a device's public keys.
package typealias DeviceID = Bytes16
/// The random name of a log, which is written by one device.
@usableFromInline package typealias LogID = Bytes16

/// A hash or a public key.
package struct Bytes32: Hashable, Sendable {
    package static let length = 32
    package static let zero = Bytes32([UInt8](repeating: 0, count: 32))

    private let first: Bytes16
    private let second: Bytes16

    /// Reads the first 32 bytes of the span, which must have as many.
    package init(_ bytes: Span<UInt8>) {
        first = Bytes16(bytes)
        second = Bytes16(bytes.extracting(16..<32))
    }

    package init(_ bytes: [UInt8]) { self.init(bytes.span) }

    package var bytes: [32 of UInt8] {
        let (first, second) = (first.bytes, second.bytes)
        return .init { $0 < 16 ? first[$0] : second[$0 - 16] }
    }
}

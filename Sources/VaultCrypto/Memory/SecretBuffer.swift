// SPDX-License-Identifier: Apache-2.0

/// Bytes assembled in locked memory, of any number.
package struct SecretBuffer: ~Copyable {
    private var buffer: SecretBytes
    package private(set) var count = 0

    /// - Parameter capacity: the expected number of bytes.
    package init(capacity: Int = 256) throws(CryptoError) { buffer = try SecretBytes(zeroed: max(capacity, 16)) }

    package mutating func append(_ byte: UInt8) throws(CryptoError) {
        try makeRoom(1)
        let end = count
        buffer.withMutableBytes { $0[end] = byte }
        count += 1
    }

    package mutating func append(_ bytes: Span<UInt8>) throws(CryptoError) {
        try makeRoom(bytes.count)
        buffer.replace(at: count, with: bytes)
        count += bytes.count
    }

    package mutating func append(_ bytes: some Sequence<UInt8>) throws(CryptoError) {
        for byte in bytes { try append(byte) }
    }

    /// Appends text that is not secret.
    package mutating func append(_ text: String) throws(CryptoError) { try append(Array(text.utf8).span) }

    /// Appends bytes in base64 (RFC 4648, section 4).
    package mutating func append(base64 bytes: Span<UInt8>) throws(CryptoError) {
        try makeRoom((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let rest = bytes.count - index
            let word =
                UInt32(bytes[index]) << 16 | (rest > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (rest > 2 ? UInt32(bytes[index + 2]) : 0)
            try append(Self.digit(word >> 18))
            try append(Self.digit(word >> 12 & 63))
            try append(rest > 1 ? Self.digit(word >> 6 & 63) : UInt8(ascii: "="))
            try append(rest > 2 ? Self.digit(word & 63) : UInt8(ascii: "="))
            index += 3
        }
    }

    /// Appends bytes in base64 for URLs, without padding (RFC 4648, section 5).
    package mutating func append(base64URL bytes: Span<UInt8>) throws(CryptoError) {
        let start = count
        try append(base64: bytes)
        count = start + (bytes.count * 4 + 2) / 3
        let end = count
        buffer.withMutableBytes { text in
            for index in start..<end {
                switch text[index] {
                case UInt8(ascii: "+"): text[index] = UInt8(ascii: "-")
                case UInt8(ascii: "/"): text[index] = UInt8(ascii: "_")
                default: break
                }
            }
        }
    }

    /// Empties the buffer without releasing its memory.
    package mutating func clear() { count = 0 }

    /// Returns the appended bytes; the buffer is empty afterwards.
    package mutating func take() throws(CryptoError) -> SecretBytes {
        defer { count = 0 }
        return try buffer.copy(of: 0..<count)
    }

    /// Returns the appended bytes.
    package consuming func bytes() throws(CryptoError) -> SecretBytes {
        let count = count
        return buffer.narrowed(to: 0..<count)
    }

    package borrowing func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try buffer.withBytes { bytes throws(E) in try body(bytes.extracting(0..<count)) }
    }

    private mutating func makeRoom(_ more: Int) throws(CryptoError) {
        guard buffer.count - count < more else { return }
        var larger = try SecretBytes(zeroed: max(buffer.count * 2, count + more))
        buffer.withBytes { larger.replace(at: 0, with: $0.extracting(0..<count)) }
        buffer = larger
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        switch UInt8(truncatingIfNeeded: value) {
        case let value where value < 26: value + UInt8(ascii: "A")
        case let value where value < 52: value - 26 + UInt8(ascii: "a")
        case let value where value < 62: value - 52 + UInt8(ascii: "0")
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}

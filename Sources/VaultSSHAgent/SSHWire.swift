// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The reason why a request is refused. The client receives the same failure for all of them.
enum SSHRefusal: Error, Equatable, Sendable {
    /// Truncated, too long, or followed by further bytes.
    case malformed
    /// An unknown type, constraint or request.
    case unsupported
    /// A key that a FIDO2 security key holds: what is added only names it, and this agent talks to none.
    case securityKey
    /// Numbers that do not belong to the key, or an invalid signature.
    case untrue
    /// No such key, or a use that is not permitted.
    case denied
    /// The vault is locked or unreachable.
    case unavailable
}

extension SSHRefusal {
    init(_ error: CryptoError) {
        self =
            switch error {
            case .authenticationFailed: .untrue
            default: .unavailable
            }
    }
}

/// Reads the data types of the ssh protocol (RFC 4251, 5), front to back; never traps on short input. The bytes are
/// lent to each step, so that they may be secret.
struct SSHReader {
    /// The position of the next read.
    private(set) var offset: Int
    private let end: Int

    init(_ bytes: Span<UInt8>) { self.init(0..<bytes.count) }

    /// Restricts reading to the range.
    init(_ range: Range<Int>) { (offset, end) = (range.lowerBound, range.upperBound) }

    var isAtEnd: Bool { offset == end }

    private mutating func take(_ count: Int) throws(SSHRefusal) -> Range<Int> {
        guard count <= end - offset else { throw .malformed }
        defer { offset += count }
        return offset..<offset + count
    }

    mutating func byte(_ bytes: Span<UInt8>) throws(SSHRefusal) -> UInt8 { bytes[try take(1).lowerBound] }

    mutating func flag(_ bytes: Span<UInt8>) throws(SSHRefusal) -> Bool { try byte(bytes) != 0 }

    mutating func number(_ bytes: Span<UInt8>) throws(SSHRefusal) -> UInt32 {
        // The bytes are read as little-endian, and swapped.
        bytes.integer(at: try take(4).lowerBound, as: UInt32.self).byteSwapped
    }

    mutating func longNumber(_ bytes: Span<UInt8>) throws(SSHRefusal) -> UInt64 {
        UInt64(try number(bytes)) << 32 | UInt64(try number(bytes))
    }

    /// Returns the range of a string's bytes.
    mutating func string(_ bytes: Span<UInt8>) throws(SSHRefusal) -> Range<Int> {
        let count = Int(try number(bytes))
        return try take(count)
    }

    /// Returns the bytes of a non-secret string.
    mutating func data(_ bytes: Span<UInt8>) throws(SSHRefusal) -> [UInt8] { bytes.array(try string(bytes)) }

    /// Reads a string of UTF-8 without zero bytes.
    mutating func text(_ bytes: Span<UInt8>) throws(SSHRefusal) -> String {
        guard let text = String(validating: try data(bytes), as: UTF8.self), !text.utf8.contains(0) else {
            throw .malformed
        }
        return text
    }

    /// Returns the range of a positive number's bytes, without the leading zero byte that marks it as positive. A
    /// non-minimal encoding is rejected: it would be the same key under another name.
    mutating func positive(_ bytes: Span<UInt8>) throws(SSHRefusal) -> Range<Int> {
        let range = try string(bytes)
        guard let first = range.first, bytes[first] < 0x80 else { throw .malformed }
        guard bytes[first] == 0 else { return range }
        guard range.count > 1, bytes[first + 1] >= 0x80 else { throw .malformed }
        return first + 1..<range.upperBound
    }

    /// - Throws: `.malformed` if bytes are left.
    func finish() throws(SSHRefusal) { guard isAtEnd else { throw .malformed } }
}

extension [UInt8] {
    mutating func put(_ number: UInt32) { append(integer: number.byteSwapped) }

    mutating func put(string bytes: Span<UInt8>) {
        put(UInt32(clamping: bytes.count))
        append(bytes)
    }

    mutating func put(_ text: String) { put(string: Array(text.utf8).span) }

    /// Writes a positive big-endian number.
    mutating func put(positive bytes: Span<UInt8>) {
        var start = 0
        while start < bytes.count, bytes[start] == 0 { start += 1 }
        let rest = bytes.extracting(start..<bytes.count)
        let needsZero = rest.count > 0 && rest[0] >= 0x80
        put(UInt32(clamping: rest.count + (needsZero ? 1 : 0)))
        if needsZero { append(0) }
        append(rest)
    }
}

extension SecretBuffer {
    mutating func put(_ number: UInt32) throws(CryptoError) {
        for shift in [24, 16, 8, 0] as [UInt32] { try append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    mutating func put(string bytes: Span<UInt8>) throws(CryptoError) {
        try put(UInt32(clamping: bytes.count))
        try append(bytes)
    }

    mutating func put(_ text: String) throws(CryptoError) { try put(string: Array(text.utf8).span) }

    /// Writes a positive big-endian number without leading zero bytes.
    mutating func put(positive bytes: Span<UInt8>) throws(CryptoError) {
        let needsZero = bytes.count > 0 && bytes[0] >= 0x80
        try put(UInt32(clamping: bytes.count + (needsZero ? 1 : 0)))
        if needsZero { try append(0) }
        try append(bytes)
    }
}

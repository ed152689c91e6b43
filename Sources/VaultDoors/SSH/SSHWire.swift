// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Why a request is not carried out. To the client all of them are one failure.
enum SSHRefusal: Error, Equatable, Sendable {
    /// Cut short, too long, or followed by more.
    case malformed
    /// A type, a constraint or a request that this agent does not know.
    case unsupported
    /// Numbers that are no key's, or another key's, and a signature that is not the key's.
    case untrue
    /// There is no such key, or it may not be used for this.
    case denied
    /// The vault is locked, or cannot be reached.
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

/// Reads what the ssh protocol writes (RFC 4251, 5), front to back; never traps on short input. The bytes are lent with
/// each step, so that they may be a secret.
struct SSHReader {
    /// Of what is read next.
    private(set) var offset: Int
    private let end: Int

    init(_ bytes: Span<UInt8>) { self.init(0..<bytes.count) }

    /// Reads the bytes of the range alone.
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
        // The integer is read in little-endian order.
        bytes.integer(at: try take(4).lowerBound, as: UInt32.self).byteSwapped
    }

    mutating func longNumber(_ bytes: Span<UInt8>) throws(SSHRefusal) -> UInt64 {
        UInt64(try number(bytes)) << 32 | UInt64(try number(bytes))
    }

    /// Where a string's bytes lie.
    mutating func string(_ bytes: Span<UInt8>) throws(SSHRefusal) -> Range<Int> {
        let count = Int(try number(bytes))
        return try take(count)
    }

    /// A string's bytes, which are no secret.
    mutating func data(_ bytes: Span<UInt8>) throws(SSHRefusal) -> [UInt8] { bytes.array(try string(bytes)) }

    /// A string of UTF-8 without zero bytes.
    mutating func text(_ bytes: Span<UInt8>) throws(SSHRefusal) -> String {
        guard let text = String(validating: try data(bytes), as: UTF8.self), !text.utf8.contains(0) else {
            throw .malformed
        }
        return text
    }

    /// Where the bytes of a positive number lie, without the zero byte that keeps it from being negative. A number that
    /// another one is written as is refused: it would be the same key by another name.
    mutating func positive(_ bytes: Span<UInt8>) throws(SSHRefusal) -> Range<Int> {
        let range = try string(bytes)
        guard let first = range.first, bytes[first] < 0x80 else { throw .malformed }
        guard bytes[first] == 0 else { return range }
        guard range.count > 1, bytes[first + 1] >= 0x80 else { throw .malformed }
        return first + 1..<range.upperBound
    }

    /// - Throws: `.malformed` unless all was read.
    func finish() throws(SSHRefusal) { guard isAtEnd else { throw .malformed } }
}

extension [UInt8] {
    mutating func put(_ number: UInt32) { append(integer: number.byteSwapped) }

    mutating func put(string bytes: Span<UInt8>) {
        put(UInt32(clamping: bytes.count))
        append(bytes)
    }

    mutating func put(_ text: String) { put(string: Array(text.utf8).span) }

    /// A positive number, big-endian.
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

    /// A positive number, big-endian and without zero bytes before it.
    mutating func put(positive bytes: Span<UInt8>) throws(CryptoError) {
        let needsZero = bytes.count > 0 && bytes[0] >= 0x80
        try put(UInt32(clamping: bytes.count + (needsZero ? 1 : 0)))
        if needsZero { try append(0) }
        try append(bytes)
    }
}

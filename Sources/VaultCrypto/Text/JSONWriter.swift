// SPDX-License-Identifier: Apache-2.0

/// JSON (RFC 8259) assembled in locked memory, for objects that may contain secrets. Values without secrets are encoded
/// by Foundation. Part of this module for the locked memory; the parser, `JSONNode`, needs none.
package struct JSONWriter: ~Copyable {
    private var buffer: SecretBuffer
    private var needsComma = false

    /// - Parameter capacity: the expected number of bytes.
    package init(capacity: Int = 65_536) throws(CryptoError) { buffer = try SecretBuffer(capacity: capacity) }

    private mutating func part() throws(CryptoError) {
        if needsComma { try buffer.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    package mutating func begin(_ bracket: String) throws(CryptoError) {
        try part()
        try buffer.append(bracket)
        needsComma = false
    }

    package mutating func end(_ bracket: String) throws(CryptoError) {
        try buffer.append(bracket)
        needsComma = true
    }

    package mutating func name(_ name: String) throws(CryptoError) {
        try part()
        try string(Array(name.utf8).span)
        try buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func member(_ name: String, _ text: String) throws(CryptoError) {
        try self.name(name)
        try string(Array(text.utf8).span)
        needsComma = true
    }

    /// - Parameter secret: UTF-8.
    package mutating func member(_ name: String, _ secret: Secret?) throws(CryptoError) {
        try self.name(name)
        if let secret {
            try secret.withBytes { bytes throws(CryptoError) in try string(bytes) }
        } else {
            try buffer.append("null")
        }
        needsComma = true
    }

    /// Writes an element of an array.
    package mutating func element(_ text: String) throws(CryptoError) {
        try part()
        try string(Array(text.utf8).span)
    }

    /// Writes an element that is already JSON.
    package mutating func element(raw secret: Secret) throws(CryptoError) {
        try part()
        try secret.withBytes { bytes throws(CryptoError) in try buffer.append(bytes) }
    }

    /// Writes bytes in base64 for URLs, without padding (RFC 4648, section 5).
    package mutating func member(_ name: String, base64URL bytes: Secret) throws(CryptoError) {
        var text = try SecretBuffer(capacity: (bytes.count * 4 + 2) / 3 + 2)
        try bytes.withBytes { bytes throws(CryptoError) in try text.append(base64URL: bytes) }
        try member(name, Secret(try text.take()))
    }

    package mutating func member(_ name: String, raw text: String) throws(CryptoError) {
        try self.name(name)
        try buffer.append(text)
        needsComma = true
    }

    /// Writes a value that is already JSON.
    package mutating func member(_ name: String, raw secret: Secret?) throws(CryptoError) {
        guard let secret else { return try member(name, raw: "null") }
        try self.name(name)
        try secret.withBytes { bytes throws(CryptoError) in try buffer.append(bytes) }
        needsComma = true
    }

    /// The number of bytes so far.
    package var count: Int { buffer.count }

    /// Returns the written text as a line; the writer is empty afterwards.
    package mutating func line() throws(CryptoError) -> Secret {
        try buffer.append(0x0a)
        return Secret(try take())
    }

    /// Returns the written text; the writer is empty afterwards.
    package mutating func take() throws(CryptoError) -> SecretBytes {
        needsComma = false
        return try buffer.take()
    }

    private mutating func string(_ bytes: Span<UInt8>) throws(CryptoError) {
        try buffer.append(UInt8(ascii: "\""))
        try buffer.append(escaping: bytes)
        try buffer.append(UInt8(ascii: "\""))
    }
}

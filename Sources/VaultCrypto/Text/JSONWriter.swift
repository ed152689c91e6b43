// SPDX-License-Identifier: Apache-2.0

/// A JSON value to be written, whose secrets stay in locked memory.
package enum JSONOutput {
    case text(String)
    /// UTF-8; null without a secret.
    case secret(Secret?)
    /// Bytes, in base64 for URLs without padding (RFC 4648, section 5).
    case base64URL(Secret)
    /// A value that is already JSON; null without a secret.
    case json(String)
    case source(Secret?)
    case array([JSONOutput])
    case object([(String, JSONOutput)])
}

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

    package mutating func member(_ name: String, _ value: JSONOutput) throws(CryptoError) {
        try self.name(name)
        try element(value)
    }

    package mutating func member(_ name: String, _ text: String) throws(CryptoError) { try member(name, .text(text)) }

    /// - Parameter secret: UTF-8.
    package mutating func member(_ name: String, _ secret: Secret?) throws(CryptoError) {
        try member(name, .secret(secret))
    }

    package mutating func member(_ name: String, raw text: String) throws(CryptoError) { try member(name, .json(text)) }

    /// Writes an element of an array, or the value behind a name.
    package mutating func element(_ value: JSONOutput) throws(CryptoError) {
        switch value {
        case .array(let elements):
            try begin("[")
            for element in elements { try self.element(element) }
            return try end("]")
        case .object(let members):
            try begin("{")
            for (name, value) in members { try member(name, value) }
            return try end("}")
        case .text(let text):
            try part()
            try string(Array(text.utf8).span)
        case .secret(let secret?):
            try part()
            try secret.withBytes { bytes throws(CryptoError) in try string(bytes) }
        case .base64URL(let bytes):
            try part()
            try buffer.append("\"")
            try bytes.withBytes { bytes throws(CryptoError) in try buffer.append(base64URL: bytes) }
            try buffer.append("\"")
        case .source(let secret?):
            try part()
            try secret.withBytes { bytes throws(CryptoError) in try buffer.append(bytes) }
        case .json(let text):
            try part()
            try buffer.append(text)
        case .secret(nil), .source(nil): try element(.json("null"))
        }
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

// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import VaultCrypto
internal import VaultFormat

/// A value in the body of a message. Each value has one encoding.
package protocol MessageValue: SendableMetatype {
    func write(to writer: inout MessageWriter)

    /// - Throws: an error for anything but the output of ``write(to:)``.
    static func read(from reader: inout MessageReader) throws(MessageError) -> Self
}

/// Encodes a body. Integers are little-endian; texts and byte arrays have their length, u32, before them.
package struct MessageWriter {
    private(set) var body: [UInt8] = []
    private(set) var secrets: [Secret] = []

    var secretsLength: Int { secrets.reduce(0) { $0 + $1.count } }

    package mutating func put(_ value: some MessageValue) { value.write(to: &self) }

    fileprivate mutating func append(_ integer: some FixedWidthInteger & UnsignedInteger & BitwiseCopyable) {
        body.append(integer: integer)
    }

    fileprivate mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            append(UInt32(utf8.count))
            // The closure only reads the bytes during the call.
            unsafe body.append(contentsOf: utf8)
        }
    }

    fileprivate mutating func append(_ bytes: [UInt8]) {
        append(UInt32(bytes.count))
        body.append(bytes.span)
    }

    /// Writes the length into the body, and the secret after it.
    fileprivate mutating func append(_ secret: Secret) {
        append(UInt32(secret.count))
        secrets.append(secret)
    }
}

/// Decodes a body. Anything but a writer's output is an error, and no memory is allocated for a length before it is
/// known to fit.
package struct MessageReader {
    private let body: [UInt8]
    private var offset = 0
    private let secrets: Secret?
    private var secretsOffset = 0

    /// - Parameter secrets: all secrets of the frame, one after the other.
    init(_ body: [UInt8], secrets: Secret?) {
        self.body = body
        self.secrets = secrets
    }

    package mutating func read<Value: MessageValue>(_ type: Value.Type = Value.self) throws(MessageError) -> Value {
        try Value.read(from: &self)
    }

    private mutating func take(_ count: Int) throws(MessageError) -> Range<Int> {
        guard count <= body.count - offset else { throw .truncated }
        defer { offset += count }
        return offset..<offset + count
    }

    fileprivate mutating func integer<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ type: I.Type = I.self
    ) throws(MessageError) -> I {
        let range = try take(MemoryLayout<I>.size)
        return body.span.integer(at: range.lowerBound)
    }

    fileprivate mutating func bytes() throws(MessageError) -> [UInt8] {
        let range = try run()
        return body.span.array(range)
    }

    /// Returns the range of a byte array in the body.
    private mutating func run() throws(MessageError) -> Range<Int> { try take(Int(try integer(UInt32.self))) }

    fileprivate mutating func text() throws(MessageError) -> String {
        let range = try run()
        guard let text = try? UTF8Span(validating: body.span.extracting(range)) else { throw .invalid }
        return String(copying: text)
    }

    fileprivate mutating func secret() throws(MessageError) -> Secret {
        let length = Int(try integer(UInt32.self))
        guard length <= (secrets?.count ?? 0) - secretsOffset else { throw .truncated }
        defer { secretsOffset += length }
        // A single secret needs no copy.
        if let secrets, length == secrets.count { return secrets }
        do throws(CryptoError) {
            guard let secrets else { return Secret(try SecretBytes(zeroed: 0)) }
            return Secret(try secrets.bytes.copy(of: secretsOffset..<secretsOffset + length))
        } catch { throw .tooLong }
    }

    /// Reads the number of elements that follow.
    mutating func count() throws(MessageError) -> Int {
        let count = Int(try integer(UInt32.self))
        // Each element has at least one byte.
        guard count <= body.count - offset else { throw .truncated }
        return count
    }

    /// - Throws: an error if anything is left.
    func end() throws(MessageError) {
        guard offset == body.count, secretsOffset == secrets?.count ?? 0 else { throw .invalid }
    }
}

extension MessageValue where Self: FixedWidthInteger & UnsignedInteger & BitwiseCopyable {
    package func write(to writer: inout MessageWriter) { writer.append(self) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Self { try reader.integer() }
}

extension UInt8: MessageValue {}
extension UInt16: MessageValue {}
extension UInt32: MessageValue {}
extension UInt64: MessageValue {}

/// A number of something, which is never negative.
extension Int: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(UInt64(self)) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Int {
        guard let number = Int(exactly: try reader.read(UInt64.self)) else { throw .invalid }
        return number
    }
}

/// A finite number.
extension Double: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(bitPattern) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Double {
        let number = Double(bitPattern: try reader.read())
        guard number.isFinite else { throw .invalid }
        return number
    }
}

extension Bool: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(self ? 1 as UInt8 : 0) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Bool {
        switch try reader.read(UInt8.self) {
        case 0: false
        case 1: true
        default: throw .invalid
        }
    }
}

/// A number or a word that encodes one of several cases.
extension MessageValue where Self: RawRepresentable, RawValue: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(rawValue) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Self {
        guard let value = Self(rawValue: try reader.read()) else { throw .invalid }
        return value
    }
}

extension String: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.append(self) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> String { try reader.text() }
}

extension Date: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(timeIntervalSinceReferenceDate) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Date {
        Date(timeIntervalSinceReferenceDate: try reader.read())
    }
}

extension Secret: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.append(self) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Secret { try reader.secret() }
}

extension Optional: MessageValue where Wrapped: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(self != nil)
        if let self { writer.put(self) }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Wrapped? {
        try reader.read(Bool.self) ? try reader.read(Wrapped.self) : nil
    }
}

extension Array: MessageValue where Element: MessageValue {
    package func write(to writer: inout MessageWriter) {
        // Bytes at once have the form of bytes one by one. The type is the same.
        if Element.self == UInt8.self { return writer.append(unsafe unsafeBitCast(self, to: [UInt8].self)) }
        writer.put(UInt32(count))
        for element in self { writer.put(element) }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> [Element] {
        // The type is the same.
        if Element.self == UInt8.self { return unsafe unsafeBitCast(try reader.bytes(), to: [Element].self) }
        var elements: [Element] = []
        for _ in 0..<(try reader.count()) { elements.append(try reader.read()) }
        return elements
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat

/// Puts a body together. Integers are little-endian; texts and runs of bytes have their length, u32, before them.
struct MessageWriter {
    private(set) var body: [UInt8] = []
    private(set) var secrets: [Secret] = []

    var secretsLength: Int { secrets.reduce(0) { $0 + $1.count } }

    mutating func put<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(_ integer: I) {
        body.append(integer: integer)
    }

    mutating func put(_ flag: Bool) { body.append(flag ? 1 : 0) }

    mutating func put(_ bytes: [UInt8]) {
        put(UInt32(bytes.count))
        body.append(bytes.span)
    }

    mutating func put(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            put(UInt32(utf8.count))
            // The bytes are read before the closure ends.
            unsafe body.append(contentsOf: utf8)
        }
    }

    mutating func put(_ date: Date) { put(date.timeIntervalSinceReferenceDate.bitPattern) }

    /// Only the length stands in the body.
    mutating func put(_ secret: Secret) {
        put(UInt32(secret.count))
        secrets.append(secret)
    }

    mutating func put<T>(_ optional: T?, _ write: (inout MessageWriter, T) -> Void) {
        put(optional != nil)
        if let optional { write(&self, optional) }
    }

    mutating func putAll<C: Collection>(_ elements: C, _ write: (inout MessageWriter, C.Element) -> Void) {
        put(UInt32(elements.count))
        for element in elements { write(&self, element) }
    }
}

/// Takes a body apart. What is not exactly what a writer makes is an error, and nothing is allocated for a length
/// before it is known to fit.
struct MessageReader {
    private let body: [UInt8]
    private var offset = 0
    private let secrets: Secret?
    private var secretsOffset = 0

    /// - Parameter secrets: all of the frame's, one behind the other.
    init(_ body: [UInt8], secrets: Secret?) {
        self.body = body
        self.secrets = secrets
    }

    init(_ frame: Frame) { self.init(frame.body, secrets: frame.secrets.first) }

    private mutating func take(_ count: Int) throws(MessageError) -> Range<Int> {
        guard count <= body.count - offset else { throw .truncated }
        defer { offset += count }
        return offset..<offset + count
    }

    mutating func integer<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(_ type: I.Type = I.self)
        throws(MessageError) -> I
    {
        let range = try take(MemoryLayout<I>.size)
        return body.span.integer(at: range.lowerBound)
    }

    mutating func flag() throws(MessageError) -> Bool {
        switch try integer(UInt8.self) {
        case 0: false
        case 1: true
        default: throw .invalid
        }
    }

    /// - Throws: `.invalid` for a number that means nothing.
    mutating func rawValue<R: RawRepresentable>() throws(MessageError) -> R
    where R.RawValue: FixedWidthInteger & UnsignedInteger & BitwiseCopyable {
        guard let value = R(rawValue: try integer()) else { throw .invalid }
        return value
    }

    mutating func bytes() throws(MessageError) -> [UInt8] {
        let range = try run()
        return body.span.array(range)
    }

    /// Bytes where they lie in the body.
    private mutating func run() throws(MessageError) -> Range<Int> { try take(Int(try integer(UInt32.self))) }

    mutating func text() throws(MessageError) -> String {
        let range = try run()
        guard let text = try? UTF8Span(validating: body.span.extracting(range)) else { throw .invalid }
        return String(copying: text)
    }

    mutating func date() throws(MessageError) -> Date {
        let seconds = Double(bitPattern: try integer())
        guard seconds.isFinite else { throw .invalid }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }

    mutating func secret() throws(MessageError) -> Secret {
        let length = Int(try integer(UInt32.self))
        guard length <= (secrets?.count ?? 0) - secretsOffset else { throw .truncated }
        defer { secretsOffset += length }
        // The only one needs no copy.
        if let secrets, length == secrets.count { return secrets }
        do throws(CryptoError) {
            guard let secrets else { return Secret(try SecretBytes(zeroed: 0)) }
            return Secret(try secrets.bytes.copy(of: secretsOffset..<secretsOffset + length))
        } catch {
            throw .tooLong
        }
    }

    mutating func optional<T>(_ read: (inout MessageReader) throws(MessageError) -> T) throws(MessageError) -> T? {
        try flag() ? try read(&self) : nil
    }

    mutating func all<T>(_ read: (inout MessageReader) throws(MessageError) -> T) throws(MessageError) -> [T] {
        let count = try integer(UInt32.self)
        // Each takes a byte at least.
        guard Int(count) <= body.count - offset else { throw .truncated }
        var elements: [T] = []
        for _ in 0..<count { elements.append(try read(&self)) }
        return elements
    }

    /// - Throws: when something is left.
    func end() throws(MessageError) {
        guard offset == body.count, secretsOffset == secrets?.count ?? 0 else { throw .invalid }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultFormat

/// A message between ``ServedRecordStore`` and ``RecordServer``: `length u32, id u32, what u8`, then that many bytes.
/// Integers are little-endian.
struct ServedFrame {
    static let magic = Array("VLTSRV".utf8)
    /// The first bytes of each side: the name of the protocol, and its version.
    static let greeting = magic + [1, 0]
    static let headLength = 9
    /// The most bytes after a head: a record of the greatest length, and its address.
    static let limit = 1 << 20 + 128

    /// The kinds of a question, by their codes.
    enum Question: UInt8 {
        /// The names of fleets.
        case realms = 1
        case heads, read, record, append
        case removeBelow, removeOne
        case watch
        /// Ends the watch that has the frame's number. The server does not answer.
        case unwatch

        /// Whether a question may be repeated after its answer was lost. A repeated removal could remove a record that
        /// has meanwhile replaced the removed one.
        var isRepeatable: Bool { self != .removeBelow && self != .removeOne }
    }

    /// The kinds of an answer. An answer has the number of its question.
    enum Answer: UInt8 {
        case realms = 0x81
        case heads, record
        /// The last frame; its content depends on the question.
        case done
        /// The last frame of a question that failed: the error.
        case failed
        case hint
        /// A sign of life, with the number 0.
        case alive
    }

    let what: UInt8
    let id: UInt32
    let content: [UInt8]

    init(_ what: UInt8, _ id: UInt32, _ content: [UInt8] = []) {
        (self.what, self.id, self.content) = (what, id, content)
    }

    init(_ question: Question, _ id: UInt32, _ content: [UInt8] = []) { self.init(question.rawValue, id, content) }

    init(_ answer: Answer, _ id: UInt32, _ content: [UInt8] = []) { self.init(answer.rawValue, id, content) }

    /// The size on the wire in bytes, which both sides count against the limit of a page.
    var length: Int { Self.headLength + content.count }

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        bytes.append(integer: UInt32(content.count))
        bytes.append(integer: id)
        bytes.append(what)
        return bytes + content
    }
}

/// The size of a page: the records of a stream in one answer. The reader asks for more.
enum ServedPage {
    static let length = 4 << 20

    /// The longest page that keeps the records of one address together.
    static func limit(of kind: RecordKind) -> Int { length + (LowestRecordNames.conflictsPerAddress + 2) * kind.limit }
}

// MARK: What frames hold

extension [UInt8] {
    mutating func append(_ name: Bytes16) { append(name.bytes) }

    mutating func append(_ stream: RecordStream) {
        append(stream.kind.rawValue)
        append(stream.name)
    }

    mutating func append(_ address: RecordAddress) {
        append(address.stream)
        append(integer: address.sequence)
    }

    mutating func append(_ head: StreamHead) {
        append(head.stream)
        append(integer: head.first)
        append(integer: head.last)
        append(integer: head.count ?? .max)
    }

    mutating func append(_ error: RecordStoreError) {
        let (code, errno, text): (UInt8, Errno, String) =
            switch error {
            case .unreachable(let place): (1, Errno(rawValue: 0), place)
            case .inputOutput(let errno, let place): (2, errno, place)
            case .invalid(let what): (3, Errno(rawValue: 0), what)
            case .stopped: (4, Errno(rawValue: 0), "")
            case .denied(let what): (5, Errno(rawValue: 0), what)
            case .refused(let what, hint: _): (6, Errno(rawValue: 0), what)
            }
        append(code)
        append(integer: UInt32(bitPattern: errno.rawValue))
        append(contentsOf: text.utf8.prefix(RecordStoreError.servedTextLimit))
    }

    mutating func append(_ hint: RecordHint) {
        switch hint {
        case .appended(let stream, let sequence):
            append(1 as UInt8)
            append(RecordAddress(stream, sequence))
        case .changed: append(2 as UInt8)
        case .lost(let error):
            append(3 as UInt8)
            append(error)
        }
    }
}

extension StreamHead {
    static let servedLength = 41
}

extension RecordStoreError {
    static let servedTextLimit = 1024
}

extension ByteReader {
    var isAtEnd: Bool { remaining == 0 }

    /// A copy of the next bytes.
    mutating func array(_ count: Int) throws(FormatError) -> [UInt8] {
        let range = try take(count, .body)
        return Array(bytes[range])
    }

    mutating func name() throws(FormatError) -> Bytes16 { Bytes16(try array(Bytes16.length)) }

    mutating func stream() throws(FormatError) -> RecordStream {
        guard let kind = RecordKind(rawValue: try integer(UInt8.self, .body)) else { throw .invalid(.body) }
        return RecordStream(kind, try name())
    }

    mutating func address() throws(FormatError) -> RecordAddress {
        RecordAddress(try stream(), try integer(UInt64.self, .body))
    }

    mutating func head() throws(FormatError) -> StreamHead {
        let stream = try stream()
        let (first, last) = (try integer(UInt64.self, .body), try integer(UInt64.self, .body))
        let count = try integer(UInt64.self, .body)
        guard stream.kind.isHeaded, RecordAddress.sequences.contains(first), RecordAddress.sequences.contains(last),
            first <= last
        else { throw .invalid(.body) }
        return StreamHead(stream, first: first, last: last, count: count == .max ? nil : count)
    }

    /// Reads an error that the other side has met.
    mutating func storeError() throws(FormatError) -> RecordStoreError {
        let code = try integer(UInt8.self, .body)
        let errno = Errno(rawValue: CInt(bitPattern: try integer(UInt32.self, .body)))
        let text = try array(min(remaining, RecordStoreError.servedTextLimit))
        let place = String(decoding: text, as: UTF8.self)
        try expectEnd()
        switch code {
        case 1: return .unreachable("there is no '\(place)' on the server")
        case 2: return .inputOutput(errno, place)
        case 3: return .invalid(place)
        case 5: return .denied(place)
        case 6: return .refused(place, hint: nil)
        default: throw .invalid(.body)
        }
    }

    mutating func hint() throws(FormatError) -> RecordHint {
        switch try integer(UInt8.self, .body) {
        case 1:
            let address = try address()
            try expectEnd()
            return .appended(address.stream, address.sequence)
        case 2:
            try expectEnd()
            return .changed
        case 3: return .lost(try storeError())
        default: throw .invalid(.body)
        }
    }

    func expectEnd() throws(FormatError) { guard isAtEnd else { throw .invalid(.body) } }
}

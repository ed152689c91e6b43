// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// A range of keys, without its upper end.
struct EtcdKeyRange: Equatable {
    var start: [UInt8]
    let end: [UInt8]

    /// The keys that begin with a text, whose last character is `/`.
    init(below prefix: String) {
        start = Array(prefix.utf8)
        // "0" is the character after "/".
        end = start.dropLast() + [UInt8(ascii: "0")]
    }

    init(_ start: [UInt8], _ end: [UInt8]) { (self.start, self.end) = (start, end) }

    func contains(_ key: [UInt8]) -> Bool { !Self.isOrdered(key, start) && Self.isOrdered(key, end) }

    /// Continues after a key.
    mutating func begin(after key: [UInt8]) { start = key + [0] }

    static func isOrdered(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.lexicographicallyPrecedes(b) }
}

/// The keys of a fleet's records: `vlt1/<realm>/<kind>/<stream>/<number>`, and for the last number of a roster or log
/// `vlt1/<realm>/h/<kind>/<stream>`.
struct EtcdKeys {
    static let version = "vlt1/"
    private let realm: String

    init(_ realm: RealmID) { self.realm = Self.version + realm.text + "/" }

    // MARK: Records

    /// A key of the fleet that is never stored.
    var never: [UInt8] { Array((realm + "never").utf8) }

    func record(_ address: RecordAddress) -> [UInt8] {
        Array((prefix(of: address.stream) + digits(address.sequence)).utf8)
    }

    /// All records of a stream.
    func records(of stream: RecordStream) -> EtcdKeyRange { EtcdKeyRange(below: prefix(of: stream)) }

    func records(of stream: RecordStream, from sequence: UInt64) -> EtcdKeyRange {
        var range = records(of: stream)
        range.start = record(RecordAddress(stream, sequence))
        return range
    }

    func records(of stream: RecordStream, below sequence: UInt64) -> EtcdKeyRange {
        EtcdKeyRange(records(of: stream).start, record(RecordAddress(stream, sequence)))
    }

    /// All records of a kind.
    func records(of kind: RecordKind) -> EtcdKeyRange { EtcdKeyRange(below: "\(realm)\(kind.rawValue)/") }

    /// Returns `nil` unless the key is that of a record of the stream.
    func sequence(of key: [UInt8], in stream: RecordStream) -> UInt64? {
        let prefix = Array(prefix(of: stream).utf8)
        guard key.starts(with: prefix) else { return nil }
        return Self.sequence(key.dropFirst(prefix.count))
    }

    /// Returns `nil` unless the key is that of a record of the kind.
    func address(of key: [UInt8], of kind: RecordKind) -> RecordAddress? {
        let prefix = Array("\(realm)\(kind.rawValue)/".utf8)
        guard key.starts(with: prefix), key.count == prefix.count + 33 + 16 else { return nil }
        let rest = key.dropFirst(prefix.count)
        guard rest.dropFirst(32).first == UInt8(ascii: "/"), let name = Self.name(rest.prefix(32)),
            let sequence = Self.sequence(rest.dropFirst(33))
        else { return nil }
        return RecordAddress(RecordStream(kind, name), sequence)
    }

    // MARK: Heads

    var heads: EtcdKeyRange { EtcdKeyRange(below: realm + "h/") }

    /// Returns `nil` for streams of a kind without head keys.
    func head(of stream: RecordStream) -> [UInt8]? {
        guard Self.isHeaded(stream.kind) else { return nil }
        return Array("\(realm)h/\(stream.kind.rawValue)/\(stream.name.text)".utf8)
    }

    /// Returns `nil` unless the key is that of a head.
    func stream(ofHead key: [UInt8]) -> RecordStream? {
        let prefix = Array((realm + "h/").utf8)
        let rest = key.dropFirst(prefix.count)
        guard key.starts(with: prefix), rest.count == 2 + 32, rest.dropFirst().first == UInt8(ascii: "/"),
            let digit = rest.first, let kind = RecordKind(rawValue: digit &- UInt8(ascii: "0")), Self.isHeaded(kind),
            let name = Self.name(rest.dropFirst(2))
        else { return nil }
        return RecordStream(kind, name)
    }

    /// Returns the eight bytes of a head in big-endian order, in which etcd compares them.
    static func headValue(_ sequence: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: sequence >> UInt64(56 - 8 * $0)) }
    }

    /// Returns `nil` unless the value is a record's number.
    static func sequence(ofHead value: [UInt8]) -> UInt64? {
        guard value.count == 8 else { return nil }
        let sequence = value.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return RecordAddress.sequences.contains(sequence) ? sequence : nil
    }

    private static func isHeaded(_ kind: RecordKind) -> Bool { kind == .roster || kind == .log }

    // MARK: Realms

    /// Returns the realm of a key, and the first key after all keys of that realm.
    static func realm(of key: [UInt8]) -> (realm: RealmID, next: [UInt8])? {
        let prefix = Array(version.utf8)
        guard key.starts(with: prefix), key.count > prefix.count + 32, key[prefix.count + 32] == UInt8(ascii: "/"),
            let realm = name(key[prefix.count..<prefix.count + 32])
        else { return nil }
        return (realm, EtcdKeyRange(below: version + realm.text + "/").end)
    }

    // MARK: Digits

    private func prefix(of stream: RecordStream) -> String { "\(realm)\(stream.kind.rawValue)/\(stream.name.text)/" }

    private func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }

    private static func name(_ digits: ArraySlice<UInt8>) -> Bytes16? {
        Bytes16(text: String(decoding: digits, as: UTF8.self))
    }

    private static func sequence(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard digits.count == 16, let bytes = bytes(hexadecimal: String(decoding: digits, as: UTF8.self)) else {
            return nil
        }
        return sequence(ofHead: bytes)
    }
}

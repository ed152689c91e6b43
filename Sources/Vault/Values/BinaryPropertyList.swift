// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultFormat

/// Binary property lists, `bplist00`: consecutive objects, a table of their offsets, and a trailer of 32 bytes.
///
/// A custom reader, since Foundation's (swift-foundation of Swift 6.3.1) crashes on a list nested 10,000 deep and does
/// not distinguish 12.0 from 12. Every number in the file is hostile: each is checked against the available bytes
/// before use.
struct BinaryPropertyListReader {
    static let magic = Array("bplist00".utf8)
    private static let trailerLength = 32

    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let tableOffset: Int
    /// The number of objects that may still be made, since few bytes can expand to very many objects.
    private var left = SecretValue.mostObjects
    /// The number of bytes that may still be copied, since a long text can be referenced very often.
    private var bytesLeft: Int

    /// Whether an archiver's identifiers are read, in the form of XML lists: a dictionary of ``identifierKey``.
    private var readsIdentifiers = false
    static let identifierKey = "CF$UID"

    static func read(_ bytes: [UInt8], readsIdentifiers: Bool = false) throws(ValueFormatError) -> SecretValue {
        var (reader, root) = try BinaryPropertyListReader.open(bytes)
        reader.readsIdentifiers = readsIdentifiers
        return try reader.object(root, depth: 0)
    }

    /// Whether the list contains a value that Foundation's encoder wrote, which represents a nil by the text `$null`.
    ///
    /// Such values were passed in an array, whose element then became the root: the array is still the first object. In
    /// the same place ``BinaryPropertyListWriter`` has an object without parts.
    static func isOfFoundation(_ bytes: [UInt8]) -> Bool {
        guard let (opened, root) = try? BinaryPropertyListReader.open(bytes), let first = try? opened.offset(of: 0),
            bytes[first] == 0xA1
        else { return false }
        var reader = opened
        return (try? reader.references(1, at: first + 1)) == [root]
    }

    private static func open(_ bytes: [UInt8]) throws(ValueFormatError) -> (BinaryPropertyListReader, root: Int) {
        let trailer = bytes.count - trailerLength
        guard trailer >= magic.count, bytes.starts(with: magic) else { throw .malformed(offset: 0) }
        func number(_ offset: Int) -> Int? { Int(exactly: bigEndian(bytes[offset..<offset + 8])) }
        guard let count = number(trailer + 8), let root = number(trailer + 16), let table = number(trailer + 24)
        else { throw .malformed(offset: trailer) }
        let sizes = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        guard (1...8).contains(sizes.0), (1...8).contains(sizes.1), table >= magic.count, table <= trailer,
            count <= (trailer - table) / sizes.0, root < count
        else { throw .malformed(offset: trailer) }
        return (BinaryPropertyListReader(bytes, offsetSize: sizes.0, referenceSize: sizes.1, count, table), root)
    }

    private init(_ bytes: [UInt8], offsetSize: Int, referenceSize: Int, _ count: Int, _ tableOffset: Int) {
        self.bytes = bytes
        self.offsetSize = offsetSize
        self.referenceSize = referenceSize
        self.count = count
        self.tableOffset = tableOffset
        bytesLeft = bytes.count + 64 << 20
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    /// Takes bytes of the objects, which end where the table begins.
    private mutating func take(_ length: UInt64, at offset: Int) throws(ValueFormatError) -> ArraySlice<UInt8> {
        guard offset <= tableOffset, length <= UInt64(tableOffset - offset) else { throw .malformed(offset: offset) }
        guard length <= UInt64(bytesLeft) else { throw .tooLarge }
        bytesLeft -= Int(length)
        return bytes[offset..<offset + Int(length)]
    }

    private func offset(of index: Int) throws(ValueFormatError) -> Int {
        let entry = tableOffset + index * offsetSize
        guard let offset = Int(exactly: Self.bigEndian(bytes[entry..<entry + offsetSize])),
            offset >= Self.magic.count, offset < tableOffset
        else { throw .malformed(offset: entry) }
        return offset
    }

    /// Counts an object.
    private mutating func begin(depth: Int) throws(ValueFormatError) {
        guard depth <= SecretValue.deepest else { throw .tooDeep }
        guard left > 0 else { throw .tooLarge }
        left -= 1
    }

    private mutating func object(_ index: Int, depth: Int) throws(ValueFormatError) -> SecretValue {
        try begin(depth: depth)
        let offset = try offset(of: index)
        let marker = bytes[offset]
        let low = Int(marker & 15)
        switch marker >> 4 {
        case 0x0:
            switch marker {
            case 0x00: return .null
            case 0x08: return .bool(false)
            case 0x09: return .bool(true)
            default: throw .malformed(offset: offset)
            }
        case 0x1:
            guard low <= 4 else { throw .malformed(offset: offset) }
            let number = try take(1 << UInt64(low), at: offset + 1)
            guard low == 4 else {
                // Integers of one, two and four bytes are unsigned, those of eight are signed.
                let bits = Self.bigEndian(number)
                return low == 3 ? .integer(Int64(bitPattern: bits)) : .integer(Int64(bits))
            }
            let (high, rest) = (Self.bigEndian(number.prefix(8)), Self.bigEndian(number.suffix(8)))
            if high == 0, let value = SecretValue(rest) { return value }
            guard high == .max, rest >> 63 == 1 else { throw .malformed(offset: offset) }
            return .integer(Int64(bitPattern: rest))
        case 0x2:
            switch low {
            case 2: return .real(Double(Float(bitPattern: UInt32(Self.bigEndian(try take(4, at: offset + 1))))))
            case 3: return .real(Double(bitPattern: Self.bigEndian(try take(8, at: offset + 1))))
            default: throw .malformed(offset: offset)
            }
        case 0x3:
            guard marker == 0x33 else { throw .malformed(offset: offset) }
            let seconds = Double(bitPattern: Self.bigEndian(try take(8, at: offset + 1)))
            guard seconds.isFinite else { throw .malformed(offset: offset) }
            return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case 0x4:
            let (start, length) = try length(low, at: offset)
            return .data(Data(try take(length, at: start)))
        case 0x5, 0x7:
            let (start, length) = try length(low, at: offset)
            guard let text = String(validating: try take(length, at: start), as: UTF8.self) else {
                throw .malformed(offset: offset)
            }
            return .string(text)
        case 0x6:
            let (start, length) = try length(low, at: offset)
            guard length <= UInt64(tableOffset) else { throw .malformed(offset: offset) }
            let run = try take(length * 2, at: start)
            let units = stride(from: run.startIndex, to: run.endIndex, by: 2).map {
                UInt16(Self.bigEndian(run[$0...$0 + 1]))
            }
            guard let text = String(validating: units, as: UTF16.self) else { throw .malformed(offset: offset) }
            return .string(text)
        case 0xA:
            let (start, length) = try length(low, at: offset)
            var array: [SecretValue] = []
            for index in try references(length, at: start) { array.append(try object(index, depth: depth + 1)) }
            return .array(array)
        case 0xD:
            let (start, length) = try length(low, at: offset)
            let keys = try references(length, at: start)
            let values = try references(length, at: start + keys.count * referenceSize)
            var dictionary: [String: SecretValue] = [:]
            for (key, value) in zip(keys, values) {
                guard case .string(let name) = try object(key, depth: depth + 1),
                    dictionary.updateValue(try object(value, depth: depth + 1), forKey: name) == nil
                else { throw .malformed(offset: offset) }
            }
            return .dictionary(dictionary)
        case 0x8 where readsIdentifiers:
            guard low <= 3 else { throw .malformed(offset: offset) }
            let number = Self.bigEndian(try take(UInt64(low) + 1, at: offset + 1))
            return .dictionary([Self.identifierKey: .integer(Int64(number))])
        // Sets and archiver identifiers do not occur in ordinary property lists.
        default: throw .malformed(offset: offset)
        }
    }

    /// Reads the length of the object whose marker is at `offset`, and where its content begins.
    private mutating func length(_ low: Int, at offset: Int) throws(ValueFormatError) -> (start: Int, length: UInt64) {
        guard low == 15 else { return (offset + 1, UInt64(low)) }
        let marker = try take(1, at: offset + 1)[offset + 1]
        guard marker >> 4 == 1, marker & 15 <= 3 else { throw .malformed(offset: offset) }
        let size = 1 << Int(marker & 15)
        return (offset + 2 + size, Self.bigEndian(try take(UInt64(size), at: offset + 2)))
    }

    private mutating func references(_ count: UInt64, at offset: Int) throws(ValueFormatError) -> [Int] {
        guard count <= UInt64(bytes.count) else { throw .malformed(offset: offset) }
        let run = try take(count * UInt64(referenceSize), at: offset)
        var references: [Int] = []
        for start in stride(from: run.startIndex, to: run.endIndex, by: referenceSize) {
            guard let index = Int(exactly: Self.bigEndian(run[start..<start + referenceSize])), index < self.count
            else {
                throw .malformed(offset: start)
            }
            references.append(index)
        }
        return references
    }
}

/// Writes the format that ``BinaryPropertyListReader`` reads: every object is written in place, keys are sorted, so
/// that equal values have equal bytes.
struct BinaryPropertyListWriter {
    private var bytes = BinaryPropertyListReader.magic
    private var offsets: [Int] = []
    private let referenceSize: Int
    private let writesIdentifiers: Bool

    /// - Parameters:
    ///   - allowsNull: writes null as the format's null object, which Apple's own readers refuse.
    ///   - writesIdentifiers: writes a dictionary of ``BinaryPropertyListReader/identifierKey`` as an archiver's
    ///     identifier.
    static func write(
        _ value: SecretValue, allowsNull: Bool = false, writesIdentifiers: Bool = false
    ) throws(ValueFormatError) -> [UInt8] {
        let count = try value.checkedCount(allowsNull: allowsNull)
        var writer = BinaryPropertyListWriter(size(of: UInt64(count)), writesIdentifiers)
        let root = writer.append(value)
        return writer.finished(root)
    }

    private init(_ referenceSize: Int, _ writesIdentifiers: Bool) {
        self.referenceSize = referenceSize
        self.writesIdentifiers = writesIdentifiers
    }

    /// 1, 2, 4 or 8 bytes.
    private static func size(of number: UInt64) -> Int {
        number <= 0xff ? 1 : number <= 0xffff ? 2 : number <= 0xffff_ffff ? 4 : 8
    }

    private static func bigEndian(_ number: UInt64, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (size - 1 - $0))) }
    }

    private mutating func begin() -> Int {
        offsets.append(bytes.count)
        return offsets.count - 1
    }

    private mutating func append(integer: UInt64) {
        let size = Self.size(of: integer)
        bytes.append(0x10 | UInt8(size.trailingZeroBitCount))
        bytes += Self.bigEndian(integer, size)
    }

    private mutating func append(marker: UInt8, length: Int) {
        bytes.append(marker << 4 | UInt8(min(length, 15)))
        if length >= 15 { append(integer: UInt64(length)) }
    }

    private mutating func append(_ string: String) {
        if string.utf8.allSatisfy({ $0 < 0x80 }) {
            append(marker: 0x5, length: string.utf8.count)
            bytes += string.utf8
        } else {
            append(marker: 0x6, length: string.utf16.count)
            for unit in string.utf16 { bytes += Self.bigEndian(UInt64(unit), 2) }
        }
    }

    private mutating func append(_ value: SecretValue) -> Int {
        switch value {
        case .array(let array):
            let references = array.map { append($0) }
            let index = begin()
            append(marker: 0xA, length: array.count)
            for reference in references { bytes += Self.bigEndian(UInt64(reference), referenceSize) }
            return index
        case .dictionary where writesIdentifiers && value.archivedObject != nil:
            let number = UInt64(value.archivedObject ?? 0)
            let size = Self.size(of: number)
            let index = begin()
            bytes.append(0x80 | UInt8(size - 1))
            bytes += Self.bigEndian(number, size)
            return index
        case .dictionary(let dictionary):
            let members = dictionary.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            let references = members.map { append(.string($0.key)) } + members.map { append($0.value) }
            let index = begin()
            append(marker: 0xD, length: members.count)
            for reference in references { bytes += Self.bigEndian(UInt64(reference), referenceSize) }
            return index
        default: break
        }
        let index = begin()
        switch value {
        case .bool(let bool): bytes.append(bool ? 0x09 : 0x08)
        case .integer(let integer) where integer >= 0: append(integer: UInt64(integer))
        case .integer(let integer):
            bytes.append(0x13)
            bytes += Self.bigEndian(UInt64(bitPattern: integer), 8)
        case .unsigned(let integer):
            bytes.append(0x14)
            bytes += Self.bigEndian(0, 8) + Self.bigEndian(integer, 8)
        case .real(let real):
            bytes.append(0x23)
            bytes += Self.bigEndian(real.bitPattern, 8)
        case .date(let date):
            bytes.append(0x33)
            bytes += Self.bigEndian(date.timeIntervalSinceReferenceDate.bitPattern, 8)
        case .data(let data):
            append(marker: 0x4, length: data.count)
            bytes += data
        case .string(let string): append(string)
        case .null: bytes.append(0x00)
        case .array, .dictionary: break
        }
        return index
    }

    private consuming func finished(_ root: Int) -> [UInt8] {
        let table = bytes.count
        let offsetSize = Self.size(of: UInt64(table))
        for offset in offsets { bytes += Self.bigEndian(UInt64(offset), offsetSize) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        for number in [offsets.count, root, table] { bytes += Self.bigEndian(UInt64(number), 8) }
        return bytes
    }
}

extension SecretValue {
    /// The number of objects in a property list of the value.
    ///
    /// - Throws: for values that property lists cannot represent: `.unrepresentable` with the path, `.tooDeep`,
    ///   `.tooLarge`.
    func checkedCount(allowsNull: Bool = false) throws(ValueFormatError) -> Int {
        var count = 0
        func visit(_ value: SecretValue, _ path: [Step]) throws(ValueFormatError) {
            count += 1
            guard path.count <= SecretValue.deepest else { throw .tooDeep }
            guard count <= SecretValue.mostObjects else { throw .tooLarge }
            switch value {
            case .null: if !allowsNull { throw .unrepresentable(path: path.path) }
            case .date(let date):
                guard date.timeIntervalSinceReferenceDate.isFinite else { throw .unrepresentable(path: path.path) }
            case .array(let array):
                for (index, element) in array.enumerated() { try visit(element, path + [.index(index)]) }
            case .dictionary(let dictionary):
                for (key, member) in dictionary {
                    count += 1
                    try visit(member, path + [.key(key)])
                }
            default: break
            }
        }
        try visit(self, [])
        return count
    }
}

// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials

// The bytes are ordinary memory that is not wiped, since they come from a file or go to one.

extension SecretValue {
    /// The format of a property list.
    public enum PropertyListFormat: Sendable {
        /// Apple's `bplist00`.
        case binary
        /// XML with Apple's document type, UTF-8.
        case xml
    }

    /// Reads a property list, binary or XML.
    public init(propertyList data: some Collection<UInt8>) throws(ValueFormatError) {
        let bytes = Array(data)
        if bytes.starts(with: BinaryPropertyListReader.magic) {
            self = try BinaryPropertyListReader.read(bytes)
            return
        }
        let start = bytes.drop { $0 == 0x20 || (0x09...0x0D).contains($0) || [0xEF, 0xBB, 0xBF].contains($0) }
        guard start.first == UInt8(ascii: "<") else { throw .notAPropertyList }
        self = try XMLPropertyListReader.read(bytes)
    }

    /// Reads the output of `NSKeyedArchiver`, binary or XML; each reference to an object becomes a dictionary with its
    /// number, see ``archivedObject``.
    package init(archive data: some Collection<UInt8>) throws(ValueFormatError) {
        let bytes = Array(data)
        guard bytes.starts(with: BinaryPropertyListReader.magic) else {
            // XML lists already contain such dictionaries.
            self = try SecretValue(propertyList: bytes)
            return
        }
        self = try BinaryPropertyListReader.read(bytes, readsIdentifiers: true)
    }

    /// Returns the output of `NSKeyedArchiver`, in which each ``archivedObject(_:)`` is a reference.
    package func archive() throws(ValueFormatError) -> Data {
        Data(try BinaryPropertyListWriter.write(self, writesIdentifiers: true))
    }

    /// A reference to an object of an archive, by its number.
    package static func archivedObject(_ number: Int) -> SecretValue {
        [BinaryPropertyListReader.identifierKey: .integer(Int64(number))]
    }

    /// The number of the referenced object.
    package var archivedObject: Int? {
        guard let dictionary, dictionary.count == 1 else { return nil }
        return dictionary[BinaryPropertyListReader.identifierKey]?.int
    }

    /// The value as a property list; equal values have equal bytes. XML dates are in whole seconds, since Apple's
    /// readers accept no others.
    ///
    /// - Throws: `.unrepresentable` with the path to a null, a non-finite date, or a character that XML does not allow;
    ///   nothing is dropped. `.tooDeep`, `.tooLarge`.
    public func propertyList(_ format: PropertyListFormat = .binary) throws(ValueFormatError) -> Data {
        switch format {
        case .binary: Data(try BinaryPropertyListWriter.write(self))
        case .xml: Data(try XMLPropertyListWriter.write(self).utf8)
        }
    }

    /// Reads JSON (RFC 8259). A number that is a 64-bit integer becomes one, however it is written.
    public init(json data: Data) throws(ValueFormatError) {
        do { self = try JSONDecoder().decode(DecodedJSON.self, from: data).value } catch {
            throw error as? ValueFormatError ?? .notJSON
        }
    }

    /// The value as JSON with sorted keys: data in base64, dates as RFC 3339, with milliseconds if nonzero. Both are
    /// read back as text.
    ///
    /// - Throws: `.unrepresentable` with the path to a non-finite number; `.tooDeep`.
    public func json() throws(ValueFormatError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return try encoder.encode(EncodedJSON(value: self, path: [])) } catch {
            throw error as? ValueFormatError ?? .tooLarge
        }
    }
}

private struct DecodedJSON: Decodable {
    let value: SecretValue

    init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count <= SecretValue.deepest else { throw ValueFormatError.tooDeep }
        if let members = try? decoder.container(keyedBy: Key.self) {
            var dictionary: [String: SecretValue] = [:]
            for key in members.allKeys {
                dictionary[key.stringValue] = try members.decode(Self.self, forKey: key).value
            }
            value = .dictionary(dictionary)
            return
        }
        if var elements = try? decoder.unkeyedContainer() {
            var array: [SecretValue] = []
            while !elements.isAtEnd { array.append(try elements.decode(Self.self).value) }
            value = .array(array)
            return
        }
        let single = try decoder.singleValueContainer()
        if single.decodeNil() {
            value = .null
        } else if let bool = try? single.decode(Bool.self) {
            value = .bool(bool)
        } else if let string = try? single.decode(String.self) {
            value = .string(string)
        } else if let integer = try? single.decode(Int64.self) {
            value = .integer(integer)
        } else if let integer = try? single.decode(UInt64.self) {
            value = .unsigned(integer)
        } else {
            value = .real(try single.decode(Double.self))
        }
    }
}

private struct EncodedJSON: Encodable {
    let value: SecretValue
    let path: [SecretValue.Step]

    func encode(to encoder: any Encoder) throws {
        guard path.count <= SecretValue.deepest else { throw ValueFormatError.tooDeep }
        switch value {
        case .array(let array):
            var container = encoder.unkeyedContainer()
            for (index, element) in array.enumerated() {
                try container.encode(EncodedJSON(value: element, path: path + [.index(index)]))
            }
            return
        case .dictionary(let dictionary):
            var container = encoder.container(keyedBy: Key.self)
            for (key, member) in dictionary {
                try container.encode(
                    EncodedJSON(value: member, path: path + [.key(key)]), forKey: Key(stringValue: key))
            }
            return
        default: break
        }
        var container = encoder.singleValueContainer()
        switch value {
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .unsigned(let integer): try container.encode(integer)
        case .real(let real):
            guard real.isFinite else { throw ValueFormatError.unrepresentable(path: path.path) }
            try container.encode(real)
        case .string(let string): try container.encode(string)
        case .data(let data): try container.encode(data.base64EncodedString())
        case .date(let date): try container.encode(SecretValue.text(of: date))
        case .null, .array, .dictionary: try container.encodeNil()
        }
    }
}

private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

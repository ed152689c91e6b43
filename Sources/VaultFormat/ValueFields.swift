// SPDX-License-Identifier: Apache-2.0

/// The named fields of a value: the parts after the main one, in the same box.
///
/// The attribute ``AttributeTag/fields`` lists them, sorted by name bytewise: `length of the name u8, name, length of
/// the field u32`. The main part is the rest of the value.
package struct ValueFields: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package let name: String
        /// In bytes.
        package let length: Int
    }

    /// At least one, each name once.
    package let fields: [Field]

    /// Sorts lengths by name. Returns `nil` if empty: an item without fields does not have the attribute.
    ///
    /// - Parameter lengths: by name, accepted by ``isName(_:)``.
    package init?(_ lengths: [String: Int]) {
        guard !lengths.isEmpty else { return nil }
        fields = lengths.map { Field(name: $0, length: $1) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// - Throws: for anything that ``encoded`` does not produce.
    package init(parsing bytes: [UInt8], _ range: Range<Int>) throws(FormatError) {
        var reader = ByteReader(bytes, range)
        var fields: [Field] = []
        while reader.remaining > 0 {
            let nameLength = Int(try reader.integer(UInt8.self, .fields))
            let place = try reader.take(nameLength, .fields)
            guard let text = try? UTF8Span(validating: bytes.span.extracting(place)) else { throw .invalid(.fields) }
            let field = Field(name: String(copying: text), length: Int(try reader.integer(UInt32.self, .fields)))
            guard ValueFields.isName(field.name),
                fields.last.map({ $0.name.utf8.lexicographicallyPrecedes(field.name.utf8) }) ?? true
            else { throw .invalid(.fields) }
            fields.append(field)
        }
        // Canonically equivalent names would be one field to every reader, which would lose the other.
        guard !fields.isEmpty, Set(fields.map(\.name)).count == fields.count else { throw .invalid(.fields) }
        self.fields = fields
    }

    /// The attribute's bytes.
    package var encoded: [UInt8] {
        var output: [UInt8] = []
        for field in fields {
            output.append(UInt8(field.name.utf8.count))
            output += field.name.utf8
            output.append(integer: UInt32(field.length))
        }
        return output
    }

    /// The total length of the fields in a value, in bytes.
    package var length: Int { fields.reduce(0) { $0 + $1.length } }

    /// The range of a field in a value of `count` bytes.
    ///
    /// - Parameter name: `nil` for the main part.
    /// - Returns: `nil` if there is no such field, or the value is shorter than its fields.
    package func range(of name: String?, in count: Int) -> Range<Int>? {
        var start = count - length
        guard start >= 0 else { return nil }
        guard let name else { return 0..<start }
        for field in fields {
            if field.name == name { return start..<start + field.length }
            start += field.length
        }
        return nil
    }

    /// Whether the name is valid for a field: 1 to 255 bytes, no control characters.
    package static func isName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count)
            && !name.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
    }
}

extension EncodedAttributes {
    /// The division of the value; `nil` if it is a single part.
    package var fields: ValueFields? {
        guard let range = payload(of: .fields)?.range else { return nil }
        return try? ValueFields(parsing: bytes, range)
    }
}

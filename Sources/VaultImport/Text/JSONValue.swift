// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import VaultCrypto
internal import VaultFormat

/// A value of a JSON text (RFC 8259) that stays in locked memory: Foundation's decoder would make a `String` of each
/// secret.
package struct JSONValue {
    private let document: Document
    private let node: JSONNode

    fileprivate init(_ document: Document, _ node: JSONNode) { (self.document, self.node) = (document, node) }

    /// - Throws: `.malformed` with a line.
    package init(_ document: Document) throws(ImportError) {
        self.document = document
        do throws(JSONFlaw) {
            node = try document.bytes.withBytes { bytes throws(JSONFlaw) in
                try JSONNode(bytes, from: document.start)
            }
        } catch { throw .line(document.line(at: error.offset), error.text) }
    }

    /// The JSON of a product's export.
    ///
    /// - Throws: `.otherFormat` for a file that is none, with what it may be.
    init(ofExport document: Document) throws(ImportError) {
        guard let first = document.first, "{[".utf8.contains(first) else {
            let format = FormatGuess.format(of: document.content)
            throw .otherFormat(
                "this is not JSON", hint: format.map { "it seems to be \($0): 'vault import \($0) FILE'" })
        }
        try self.init(document)
    }

    /// A member of an object, which is no null.
    package subscript(key: String) -> JSONValue? { node[key].map { JSONValue(document, $0) } }

    /// The elements of an array; none of anything else.
    package var elements: [JSONValue] { node.elements.map { JSONValue(document, $0) } }

    /// The members of an object; none of anything else.
    package var members: [(key: String, value: JSONValue)] {
        guard case .object(let members) = node.kind else { return [] }
        return members.map { ($0.key, JSONValue(document, $0.value)) }
    }

    package var isObject: Bool { node.isObject }
    package var isArray: Bool { if case .array = node.kind { true } else { false } }
    package var isString: Bool { node.isString }

    /// Where a string lies between its quotes, as it is written.
    var stringRange: Range<Int>? { isString ? node.range : nil }

    package var boolean: Bool? { if case .boolean(let value) = node.kind { value } else { nil } }

    /// A number that is an integer of 64 bits.
    package var integer: Int? { if case .number = node.kind { Int(document.text(node.range)) } else { nil } }

    /// A string, or a number or a truth as it is written; for what is no secret.
    package var text: String? {
        switch node.kind {
        case .string: document.bytes.withBytes { node.unescaped($0) }
        case .number, .boolean: document.text(node.range)
        default: nil
        }
    }

    /// A string that is a time (RFC 3339).
    var date: Date? {
        guard let text else { return nil }
        return (try? Date(text, strategy: .iso8601))
            ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
    }

    /// A number that is a time, in seconds since 1970.
    var time: Date? { integer.flatMap { $0 > 0 ? Date(timeIntervalSince1970: Double($0)) : nil } }

    /// A string, as a secret; a number or a truth as it is written. Nil for what is neither, and for an empty string.
    package func secret() throws(ImportError) -> Secret? {
        switch node.kind {
        case .string:
            guard !node.range.isEmpty else { return nil }
            return try secured { () throws(CryptoError) in
                var buffer = try SecretBuffer(capacity: node.range.count)
                try document.bytes.withBytes { bytes throws(CryptoError) in
                    try node.unescape(bytes) { byte throws(CryptoError) in try buffer.append(byte) }
                }
                return Secret(try buffer.take())
            }
        case .number, .boolean: return try document.secret(node.range)
        default: return nil
        }
    }

    /// The JSON text of the value as it came.
    func source() throws(ImportError) -> Secret {
        let range = isString ? node.range.lowerBound - 1..<node.range.upperBound + 1 : node.range
        return try document.secret(range)
    }

    var line: Int { document.line(at: node.range.lowerBound) }
}

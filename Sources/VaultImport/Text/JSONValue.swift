// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import VaultCrypto
internal import VaultFormat

/// A JSON value (RFC 8259) whose text stays in locked memory: Foundation's decoder would make a `String` of each
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

    /// Parses an export; throws `.otherFormat` if the file is not JSON, with a guess of its format.
    init(ofExport document: Document) throws(ImportError) {
        guard let first = document.first, "{[".utf8.contains(first) else {
            throw .otherFormat("this is not JSON", hint: FormatGuess.hint(of: document))
        }
        try self.init(document)
    }

    /// A member of an object; `nil` if absent or null.
    package subscript(key: String) -> JSONValue? { node[key].map { JSONValue(document, $0) } }

    /// The elements of an array; empty for any other value.
    package var elements: [JSONValue] { node.elements.map { JSONValue(document, $0) } }

    /// The members of an object; empty for any other value.
    package var members: [(key: String, value: JSONValue)] {
        guard case .object(let members) = node.kind else { return [] }
        return members.map { ($0.key, JSONValue(document, $0.value)) }
    }

    package var isObject: Bool { node.isObject }
    package var isArray: Bool { if case .array = node.kind { true } else { false } }
    package var isString: Bool { node.isString }

    var stringRange: Range<Int>? { isString ? node.range : nil }

    package var boolean: Bool? { if case .boolean(let value) = node.kind { value } else { nil } }

    package var integer: Int? { if case .number = node.kind { Int(document.text(node.range)) } else { nil } }

    /// A non-secret string, or the source text of a number or boolean.
    package var text: String? {
        switch node.kind {
        case .string: document.bytes.withBytes { node.unescaped($0) }
        case .number, .boolean: document.text(node.range)
        default: nil
        }
    }

    var date: Date? {
        guard let text else { return nil }
        return (try? Date(text, strategy: .iso8601))
            ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
    }

    var time: Date? { integer.flatMap { $0 > 0 ? Date(timeIntervalSince1970: Double($0)) : nil } }

    /// Returns a string as a secret, or the source text of a number or boolean; `nil` for other values, and for an
    /// empty string.
    package func secret() throws(ImportError) -> Secret? {
        switch node.kind {
        case .string:
            guard !node.range.isEmpty else { return nil }
            return try Secret.assembled(capacity: node.range.count) { buffer throws(CryptoError) in
                try document.bytes.withBytes { bytes throws(CryptoError) in
                    try node.unescape(bytes) { byte throws(CryptoError) in try buffer.append(byte) }
                }
            }
        case .number, .boolean: return try document.secret(node.range)
        default: return nil
        }
    }

    /// Returns a string as a secret, or the source text of any other value.
    func secretOrSource() throws(ImportError) -> Secret? { try isObject || isArray ? source() : secret() }

    /// Returns the bytes of a string in base64 for URLs without padding (RFC 4648, 5); `nil` for another value.
    func decodedBase64URL() throws(ImportError) -> Secret? { isString ? try secret()?.decodedBase64URL() : nil }

    func source() throws(ImportError) -> Secret {
        let range = isString ? node.range.lowerBound - 1..<node.range.upperBound + 1 : node.range
        return try document.secret(range)
    }

    var line: Int { document.line(at: node.range.lowerBound) }
}

extension JSONOutput {
    static func texts(_ texts: [String]) -> JSONOutput { .array(texts.map(JSONOutput.text)) }

    static func number(_ number: Int) -> JSONOutput { .json(String(number)) }

    static func boolean(_ value: Bool) -> JSONOutput { .json(value ? "true" : "false") }

    static func object(present members: [(String, JSONOutput?)]) -> JSONOutput {
        .object(members.compactMap { name, value in value.map { (name, $0) } })
    }
}

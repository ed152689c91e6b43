// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// An answer of etcd's gateway. The server is hostile: a method returns well-formed data or throws an error.
struct EtcdAnswer {
    /// The most values of an answer. A tree of values takes more memory than the text.
    private static let mostValues = 1 << 17

    let text: [UInt8]
    let root: JSONNode

    /// - Throws: `.malformed`
    init(_ text: [UInt8]) throws(EtcdError) {
        let marks = text.count { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") }
        guard marks <= Self.mostValues else { throw .malformed("too many values") }
        do throws(JSONFlaw) { root = try JSONNode(text.span) } catch { throw .malformed(error.text) }
        guard root.isObject else { throw .malformed("no object") }
        self.text = text
    }

    /// Returns the revision of the answer.
    func revision() throws(EtcdError) -> Int64 {
        guard let header = root["header"], let revision = Int64(exactly: try number(header, "revision")),
            revision > 0
        else { throw .malformed("no revision") }
        return revision
    }

    /// Returns a number; 0 if it is omitted.
    func number(_ node: JSONNode, _ name: String) throws(EtcdError) -> UInt64 {
        guard let member = node[name] else { return 0 }
        let isNumber: Bool =
            switch member.kind {
            case .number, .string: true
            default: false
            }
        guard isNumber, member.range.count <= 20,
            let number = UInt64(String(decoding: text[member.range], as: UTF8.self))
        else { throw .malformed("'\(name)' is no number") }
        return number
    }

    /// Returns a flag; `false` if it is omitted.
    func flag(_ node: JSONNode, _ name: String) throws(EtcdError) -> Bool {
        guard let member = node[name] else { return false }
        guard case .boolean(let value) = member.kind else { throw .malformed("'\(name)' is neither true nor false") }
        return value
    }

    /// Returns bytes; an empty array if they are omitted.
    func bytes(_ node: JSONNode, _ name: String) throws(EtcdError) -> [UInt8] {
        guard let member = node[name] else { return [] }
        let isPlain = !text[member.range].contains(UInt8(ascii: "\\"))
        guard member.isString else { throw .malformed("'\(name)' is no base64") }
        let encoded = isPlain ? nil : Array(member.unescaped(text.span).utf8)
        let bytes = encoded.map { [UInt8](base64: $0.span) } ?? [UInt8](base64: text.span.extracting(member.range))
        guard let bytes else { throw .malformed("'\(name)' is no base64") }
        return bytes
    }

    func words(_ node: JSONNode, _ name: String) -> String {
        guard let member = node[name], member.isString else { return "" }
        return member.unescaped(text.span)
    }

    // MARK: Ranges

    struct Pair {
        let key: [UInt8]
        let value: [UInt8]
    }

    /// The result of a range.
    struct Range {
        /// The pairs in the order of their keys.
        let pairs: [Pair]
        let hasMore: Bool
        /// The number of keys in the whole range.
        let count: UInt64
    }

    func pair(_ node: JSONNode) throws(EtcdError) -> Pair {
        Pair(key: try bytes(node, "key"), value: try bytes(node, "value"))
    }

    func range(_ node: JSONNode, of keys: EtcdKeyRange, limit: Int) throws(EtcdError) -> Range {
        var pairs: [Pair] = []
        for element in node["kvs"]?.elements ?? [] {
            let pair = try pair(element)
            guard pairs.count < limit else { throw .malformed("more keys than were asked for") }
            // Otherwise reading on after the last key would never end.
            guard keys.contains(pair.key), pairs.last.map({ EtcdKeyRange.isOrdered($0.key, pair.key) }) ?? true else {
                throw .malformed("keys that were not asked for")
            }
            pairs.append(pair)
        }
        let hasMore = try flag(node, "more")
        guard !hasMore || !pairs.isEmpty else { throw .malformed("more keys, and none of them") }
        return Range(pairs: pairs, hasMore: hasMore, count: try number(node, "count"))
    }

    /// Returns the value of one key; `nil` if it is missing.
    func value(_ node: JSONNode, of key: [UInt8]) throws(EtcdError) -> [UInt8]? {
        try range(node, of: EtcdKeyRange(key, key + [0]), limit: 1).pairs.first?.value
    }

    // MARK: Transactions

    /// Returns the first results of a transaction, which are all ranges.
    func ranges(_ count: Int) throws(EtcdError) -> [JSONNode] {
        let answers = root["responses"]?.elements ?? []
        guard answers.count >= count else { throw .malformed("a part of a transaction is missing") }
        var ranges: [JSONNode] = []
        for answer in answers.prefix(count) {
            guard let range = answer["response_range"], range.isObject else {
                throw .malformed("a part of a transaction is none")
            }
            ranges.append(range)
        }
        return ranges
    }
}

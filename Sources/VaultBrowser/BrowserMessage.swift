// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat

/// A received JSON object, in locked memory: Foundation's decoder would make a `String` of each password, and recurses
/// to any depth.
final class BrowserMessage: Sendable {
    private let bytes: Secret
    private let root: JSONNode

    /// Fails for bytes that are not UTF-8, or not a JSON object.
    init?(_ bytes: Secret) {
        let root = bytes.withBytes { text -> JSONNode? in
            guard text.isUTF8 else { return nil }
            return try? JSONNode(text)
        }
        guard let root, root.isObject else { return nil }
        (self.bytes, self.root) = (bytes, root)
    }

    /// Returns a non-secret string; `nil` if the value is not a string.
    func text(_ key: String) -> String? { text(root[key]) }

    private func text(_ node: JSONNode?) -> String? {
        guard let node, node.isString else { return nil }
        return bytes.withBytes { node.unescaped($0) }
    }

    /// Returns a string, as a secret.
    func secret(_ key: String) throws(CryptoError) -> Secret? {
        guard let node = root[key], node.isString else { return nil }
        var buffer = try SecretBuffer(capacity: node.range.count)
        try bytes.withBytes { bytes throws(CryptoError) in
            try node.unescape(bytes) { byte throws(CryptoError) in try buffer.append(byte) }
        }
        return Secret(try buffer.take())
    }

    /// Lends a member and the text that contains it.
    func with<R, E: Error>(_ key: String, _ body: (JSONNode?, Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try bytes.withBytes { text throws(E) in try body(root[key], text) }
    }

    /// Returns the decoded bytes of a non-secret base64 string; `nil` for any other value.
    func data(_ key: String) -> [UInt8]? { text(key).flatMap { Data(base64Encoded: $0) }.map { Array($0) } }

    /// Returns the named strings of each object of an array; skips elements that lack one.
    func texts(_ key: String, _ names: String...) -> [[String]] {
        (root[key]?.elements ?? []).compactMap { element in
            let texts = names.compactMap { text(element[$0]) }
            return texts.count == names.count ? texts : nil
        }
    }
}

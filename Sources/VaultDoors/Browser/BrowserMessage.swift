// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat

/// An object of JSON that has come, in locked memory: Foundation's decoder would make a `String` of each password, and
/// follows any depth.
final class BrowserMessage: Sendable {
    private let bytes: Secret
    private let root: JSONNode

    /// Nil for what is no UTF-8, or no object.
    init?(_ bytes: Secret) {
        let root = bytes.withBytes { text -> JSONNode? in
            guard (try? UTF8Span(validating: text)) != nil else { return nil }
            return try? JSONNode(text)
        }
        guard let root, root.isObject else { return nil }
        (self.bytes, self.root) = (bytes, root)
    }

    /// A string that is no secret; nil for what is none.
    func text(_ key: String) -> String? { text(root[key]) }

    private func text(_ node: JSONNode?) -> String? {
        guard let node, node.isString else { return nil }
        return bytes.withBytes { node.unescaped($0) }
    }

    /// A string, as a secret.
    func secret(_ key: String) throws(CryptoError) -> Secret? {
        guard let node = root[key], node.isString else { return nil }
        var buffer = try SecretBuffer(capacity: node.range.count)
        try bytes.withBytes { bytes throws(CryptoError) in
            try node.unescape(bytes) { byte throws(CryptoError) in try buffer.append(byte) }
        }
        return Secret(try buffer.take())
    }

    /// What a string says in base64, which is no secret; nil for what is none.
    func data(_ key: String) -> [UInt8]? { text(key).flatMap { Data(base64Encoded: $0) }.map { Array($0) } }

    /// The strings of an array of objects; what is none is passed over.
    func texts(_ key: String, _ names: String...) -> [[String]] {
        (root[key]?.elements ?? []).compactMap { element in
            let texts = names.compactMap { text(element[$0]) }
            return texts.count == names.count ? texts : nil
        }
    }
}

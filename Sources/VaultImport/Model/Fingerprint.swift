// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A digest of an item's content, 32 bytes, to detect changes since the import, here or at the source.
///
/// Sensitive: it lets an attacker verify guesses of the secrets, so it is kept as a field, encrypted like them.
struct Fingerprint: Equatable {
    private let digest: Digest

    init(of item: Item, withSecret: Bool = true) throws(ImportError) {
        var hash = KeyedHash()
        let user = item.userAttributes
        let isInternet = item.itemClass == .internetPassword
        hash.update(UInt8(isInternet ? 1 : 0))
        if isInternet { hash.update(framed: WebAddress(item).text) }
        let name = isInternet ? item[.securityDomain]?.text : item.service
        hash.update(framed: user[ItemNames.originalKey] ?? name ?? "")
        for attribute in [Attribute.account, .label, .comment, .itemDescription] {
            hash.update(framed: item[attribute]?.text ?? "")
        }
        for (name, value) in user.sorted(by: { $0.key < $1.key }) where !ItemNames.isOwn(name) {
            hash.update(framed: name)
            hash.update(framed: value)
        }
        hash.update(UInt64.max)
        let names = (withSecret ? [nil] : []) + item.fieldNames.filter { $0 != ItemNames.fingerprint }.sorted()
        for name in names {
            if let name { hash.update(framed: name) }
            try item.opened(name)?.withBytes { hash.update(framed: $0) }
        }
        digest = hash.digest()
    }

    /// Returns those of its import: an empty secret may have been none, since an item with fields always has one.
    static func ofStored(_ item: Item) throws(ImportError) -> [Fingerprint] {
        let whole = try Fingerprint(of: item)
        guard try item.opened(nil)?.isEmpty == true else { return [whole] }
        return [whole, try Fingerprint(of: item, withSecret: false)]
    }

    /// The file from which an item was imported: 16 bytes of a hash of its path.
    struct Origin: Equatable {
        fileprivate let bytes: [UInt8]

        init(_ path: String) { bytes = KeyedHash.shortDigest(path) }

        init?(_ field: Secret) {
            guard field.count == 48 else { return nil }
            bytes = field.withBytes { $0.array(32..<48) }
        }
    }

    init?(_ field: Secret) {
        guard field.count == 32 || field.count == 48 else { return nil }
        digest = field.withBytes { Digest($0.extracting(0..<32)) }
    }

    var key: [UInt8] { digest.bytes.span.array(0..<32) }

    func field(_ origin: Origin?) throws(ImportError) -> Secret {
        try Secret.assembled(capacity: 48) { buffer throws(CryptoError) in
            try buffer.append(digest.bytes.span)
            if let origin { try buffer.append(origin.bytes) }
        }
    }
}

extension KeyedHash {
    static func shortDigest(_ text: String) -> [UInt8] {
        let digest = digest(Array(text.utf8).span)
        return digest.bytes.span.array(0..<16)
    }

    /// Hashes a text with its length in front, so that different sequences of texts give different hashes.
    mutating func update(framed text: String) {
        let bytes = Array(text.utf8)
        update(framed: bytes.span)
    }

    mutating func update(framed bytes: Span<UInt8>) {
        update(UInt64(bytes.count))
        update(bytes)
    }
}

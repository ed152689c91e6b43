// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A digest of an item's content, 32 bytes, to detect changes since the import, here or at the source.
///
/// Sensitive: it lets an attacker verify guesses of the secrets, so it is kept as a field, encrypted like them.
struct Fingerprint: Equatable {
    private let digest: Digest

    /// - Parameter open: opens the secret of the item, or one of its fields.
    init(of item: Item, _ open: (String?) throws(VaultError) -> Secret?) throws(VaultError) {
        var hash = KeyedHash()
        let user = item.userAttributes
        hash.update(UInt8(item.itemClass == .internetPassword ? 1 : 0))
        let original = user[ItemNames.originalKey]
        if item.itemClass == .internetPassword {
            let address = WebAddress(item)
            hash.update(framed: address.text)
            hash.update(framed: original ?? item[.securityDomain]?.text ?? "")
        } else {
            hash.update(framed: original ?? item.service ?? "")
        }
        for attribute in [Attribute.account, .label, .comment, .itemDescription] {
            hash.update(framed: item[attribute]?.text ?? "")
        }
        for (name, value) in user.sorted(by: { $0.key < $1.key }) where !ItemNames.isOwn(name) {
            hash.update(framed: name)
            hash.update(framed: value)
        }
        hash.update(UInt64.max)
        if let secret = try open(nil) { secret.withBytes { hash.update(framed: $0) } }
        for name in item.fieldNames.sorted() where name != ItemNames.fingerprint {
            hash.update(framed: name)
            try open(name)?.withBytes { hash.update(framed: $0) }
        }
        digest = hash.digest()
    }

    init(of item: Item) throws(ImportError) {
        do throws(VaultError) {
            try self.init(of: item) { field throws(VaultError) in try item.openedSecret(field: field) }
        } catch { throw .outside(error) }
    }

    /// Returns the fingerprints that a stored item may have had when it was imported: with and without a secret if that
    /// is empty, since a stored item with fields always has one.
    static func ofStored(_ item: Item) throws(ImportError) -> [Fingerprint] {
        let whole = try Fingerprint(of: item)
        guard try item.opened(nil)?.isEmpty == true else { return [whole] }
        do throws(VaultError) {
            let without = try Fingerprint(of: item) { field throws(VaultError) in
                try field.flatMap { name throws(VaultError) in try item.openedSecret(field: name) }
            }
            return [whole, without]
        } catch { throw .outside(error) }
    }

    /// The file from which an item was imported: 16 bytes of a hash of its path.
    struct Origin: Equatable {
        fileprivate let bytes: [UInt8]

        init(_ path: String) { bytes = KeyedHash.shortDigest(path) }

        /// Fails if the field has no origin.
        init?(_ field: Secret) {
            guard field.count == 48 else { return nil }
            bytes = field.withBytes { $0.array(32..<48) }
        }
    }

    /// Fails if the field is not a fingerprint.
    init?(_ field: Secret) {
        guard field.count == 32 || field.count == 48 else { return nil }
        digest = field.withBytes { Digest($0.extracting(0..<32)) }
    }

    /// The digest as the key of a dictionary.
    var key: [UInt8] { digest.bytes.span.array(0..<32) }

    func field(_ origin: Origin?) throws(ImportError) -> Secret {
        try Secret.assembled(capacity: 48) { buffer throws(CryptoError) in
            try buffer.append(digest.bytes.span)
            if let origin { try buffer.append(origin.bytes) }
        }
    }
}

extension KeyedHash {
    /// Returns the first 16 bytes of a text's hash.
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

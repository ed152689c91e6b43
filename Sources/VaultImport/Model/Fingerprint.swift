// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// What an item says, in 32 bytes: whether it changed since it was imported, or did so at its source.
///
/// It is as good as the secrets for a reader who guesses them, and is kept as a field, sealed with them.
struct Fingerprint: Equatable {
    private let digest: Digest

    /// - Parameter open: the secret of the item, or a field of it.
    init(of item: Item, _ open: (String?) throws(VaultError) -> Secret?) throws(VaultError) {
        var hash = KeyedHash()
        let user = item.userAttributes
        hash.update(UInt8(item.itemClass == .internetPassword ? 1 : 0))
        let original = user[ImportNames.originalKey]
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
        for (name, value) in user.sorted(by: { $0.key < $1.key }) where !ImportNames.isOwn(name) {
            hash.update(framed: name)
            hash.update(framed: value)
        }
        hash.update(UInt64.max)
        if let secret = try open(nil) { secret.withBytes { hash.update(framed: $0) } }
        for name in item.fieldNames.sorted() where name != ImportNames.fingerprint {
            hash.update(framed: name)
            try open(name)?.withBytes { hash.update(framed: $0) }
        }
        digest = hash.digest()
    }

    /// Which file it came from: 16 bytes of a hash of its path.
    struct Origin: Equatable {
        fileprivate let bytes: [UInt8]

        init(_ path: String) {
            let digest = KeyedHash.digest(Array(path.utf8).span)
            bytes = (0..<16).map { digest.bytes[$0] }
        }

        /// Nil: the field has none.
        init?(_ field: Secret) {
            guard field.count == 48 else { return nil }
            bytes = field.withBytes { $0.array(32..<48) }
        }
    }

    /// Nil: what the field has is none.
    init?(_ field: Secret) {
        guard field.count == 32 || field.count == 48 else { return nil }
        digest = field.withBytes { Digest($0.extracting(0..<32)) }
    }

    func field(_ origin: Origin?) throws(ImportError) -> Secret {
        try secured { () throws(CryptoError) in
            var buffer = try SecretBuffer(capacity: 48)
            try buffer.append(digest.bytes.span)
            if let origin { try buffer.append(origin.bytes) }
            return Secret(try buffer.take())
        }
    }
}

extension KeyedHash {
    /// Adds a text and its length, so that no two rows of texts give one hash.
    mutating func update(framed text: String) {
        let bytes = Array(text.utf8)
        update(framed: bytes.span)
    }

    mutating func update(framed bytes: Span<UInt8>) {
        update(UInt64(bytes.count))
        update(bytes)
    }
}

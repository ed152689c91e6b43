// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

/// A key as an item of a vault.
extension SecKey {
    /// The attributes that follow from the key, beyond its class and its data.
    ///
    /// - Throws: errSecUnimplemented without libcrypto.
    var itemAttributes: [Attribute: AttributeValue] {
        get throws(StatusError) {
            [
                .keyClass: .number(isPrivate ? 1 : 0), .applicationLabel: .data(try applicationLabel),
                .type: .number(isRSA ? 42 : 73), .keySizeInBits: .number(Int64(bits)),
                .effectiveKeySize: .number(Int64(bits)), .isPermanent: .bool(true),
                // True for public keys as well, as on Apple's systems.
                .isPrivate: .bool(true),
                .isModifiable: .bool(true), .isExtractable: .bool(true), .isSensitive: .bool(false),
                .wasAlwaysSensitive: .bool(false), .wasNeverExtractable: .bool(false),
                .canEncrypt: .bool(!isPrivate), .canDecrypt: .bool(isPrivate || isRSA),
                .canDerive: .bool(isPrivate && !isRSA), .canSign: .bool(isPrivate), .canVerify: .bool(!isPrivate),
                .canSignRecover: .bool(false), .canVerifyRecover: .bool(false), .canWrap: .bool(!isPrivate),
                .canUnwrap: .bool(isPrivate),
            ]
        }
    }

    /// The attributes that a query by reference ignores: capabilities, and whether the key is stored.
    static let attributesOutsideQueries: Set<Attribute> = [
        .isPermanent, .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify, .canSignRecover, .canVerifyRecover,
        .canWrap, .canUnwrap,
    ]

    /// The value of `kSecAttrApplicationLabel`: SHA-1 of the public representation.
    var applicationLabel: [UInt8] {
        get throws(StatusError) {
            let bytes = publicRepresentation
            return try converting { () throws(CryptoError) in try DigestAlgorithm.sha1.digest(of: bytes.span) }
        }
    }

    /// Returns the key of an item with its secret, by whatever means the item was added; `nil` if the item has no valid
    /// key.
    static func of(_ item: Item) -> SecKey? {
        guard let secret = item.secret, let isRSA = KeyNumber.isRSA(item[.type]) else { return nil }
        switch KeyNumber.parse(item[.keyClass]) {
        case 0:
            // An item marked as a public key may contain a secret: bytes that are not a public key must not be copied.
            let found = secret.withBytes { KeyRepresentation($0, isRSA: isRSA, isPrivate: false) }
            return found.flatMap { publicKey($0.publicRepresentation, isRSA: isRSA) }
        case 1: return privateKey(secret, isRSA: isRSA)
        default: return nil
        }
    }

    /// Returns the bytes to be stored in an item.
    func storedSecret() throws(StatusError) -> Secret {
        if let secret = try secret() { return secret }
        let bytes = publicRepresentation
        return try converting { () throws(CryptoError) in Secret(try SecretBytes(copying: bytes.span)) }
    }
}

extension KeyNumber {
    fileprivate static func parse(_ value: AttributeValue?) -> Int? {
        switch value {
        case .number(let number): Int(exactly: number)
        case .string(let text): parse(text as NSString)
        default: nil
        }
    }

    static func isRSA(_ type: AttributeValue?) -> Bool? { parse(type).flatMap { isRSA($0 as NSNumber) } }
}

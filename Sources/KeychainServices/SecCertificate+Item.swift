// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto
@_implementationOnly import VaultFormat

/// What a certificate is among the items of a vault.
extension SecCertificate {
    /// The attributes that the certificate itself has as an item, beside its class and its data. The label, its summary
    /// if it has one, is for an item that is added without: queries by reference do not look for it.
    ///
    /// - Throws: errSecParam when the issuer or the subject is no name; errSecUnimplemented without libcrypto.
    var itemAttributes: [Attribute: AttributeValue] {
        get throws(StatusError) {
            guard let issuer = fields.normalizedIssuer, let subject = fields.normalizedSubject else {
                throw .parameter
            }
            var attributes: [Attribute: AttributeValue] = [
                .certificateType: .number(Int64(fields.version)),
                // CSSM's number for DER.
                .certificateEncoding: .number(3),
                .issuer: .data(issuer), .subject: .data(subject), .serialNumber: .data(fields.serialNumber),
                .publicKeyHash: .data(try publicKeyHash),
            ]
            attributes[.subjectKeyID] = fields.subjectKeyID.map { .data($0) }
            attributes[.label] = fields.subjectSummary.map { .string($0) }
            return attributes
        }
    }

    /// SHA-1 of the public key's bits: the application label of the key that belongs to it.
    ///
    /// - Throws: errSecUnimplemented without libcrypto.
    var publicKeyHash: [UInt8] {
        get throws(StatusError) {
            try converting { () throws(CryptoError) in try DigestAlgorithm.sha1.digest(of: fields.publicKeyBits.span) }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto
@_implementationOnly import VaultFormat

/// A certificate as an item of a vault.
extension SecCertificate {
    /// The attributes that follow from the certificate, beyond its class and its data. The label, the summary if there
    /// is one, only applies to an item added without a label: queries by reference ignore it.
    ///
    /// - Throws: errSecParam if the issuer or the subject is not a valid name; errSecUnimplemented without libcrypto.
    var itemAttributes: [Attribute: AttributeValue] {
        get throws(StatusError) {
            guard let issuer = fields.normalizedIssuer, let subject = fields.normalizedSubject else { throw .parameter }
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

    /// SHA-1 of the public key's bits: the application label of the corresponding key.
    ///
    /// - Throws: errSecUnimplemented without libcrypto.
    var publicKeyHash: [UInt8] {
        get throws(StatusError) {
            try converting { () throws(CryptoError) in try DigestAlgorithm.sha1.digest(of: fields.publicKeyBits.span) }
        }
    }
}

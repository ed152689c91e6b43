// SPDX-License-Identifier: Apache-2.0
@_implementationOnly import VaultCrypto

/// A flaw of a certificate in a chain, with Apple's statuses, texts and order.
struct TrustFlaw: Hashable {
    /// From the most to the least severe.
    private enum Kind: Int {
        case keySize, hash, compliance, trust, revocation, usage, name, expiry
    }

    private let kind: Kind
    let status: OSStatus
    /// The phrase with which Apple's systems log it.
    let reason: String
    /// The index of the certificate in the chain; 0 is the evaluated one.
    let depth: Int
    /// The rank among flaws of the same kind.
    private let rank: Int

    private init(_ kind: Kind, _ status: OSStatus, _ reason: String, depth: Int = 0, rank: Int = 0) {
        (self.kind, self.status, self.reason, self.depth, self.rank) = (kind, status, reason, depth, rank)
    }

    /// Among flaws of the same kind, that of the lowest certificate comes first.
    var order: (Int, Int, Int) { (kind.rawValue, depth, rank) }

    /// Whether no user could decide to trust the certificate all the same.
    var isFatal: Bool { kind == .keySize || kind == .hash }

    /// The text after the certificate's name in the error's description.
    var text: String {
        switch kind {
        case .keySize: "certificate is using a broken key size"
        case .hash: "certificate is using a broken signature algorithm"
        case .compliance, .revocation: "certificate is not standards compliant"
        case .trust: "certificate is not trusted"
        case .usage: "certificate is not permitted for this usage"
        case .name: "certificate name does not match input"
        case .expiry: "certificate is expired"
        }
    }

    /// libcrypto cannot parse the certificate.
    static let unreadable = TrustFlaw(.compliance, errSecInvalidCertificateRef, "it cannot be read", rank: 4)

    /// A revocation check was required, which is not available here.
    static let unansweredRevocation = TrustFlaw(
        .revocation, errSecIncompleteCertRevocationCheck, "nobody was asked whether it is revoked")
}

extension TrustFlaw {
    /// Maps libcrypto's numbers, `X509_V_ERR_…`.
    init(_ finding: CertificateTrust.Finding) {
        let depth = finding.depth
        self =
            switch finding.code {
            case 66, 67: TrustFlaw(.keySize, errSecUnsupportedKeySize, "its key is too short", depth: depth)
            case 68:
                TrustFlaw(.hash, errSecInvalidDigestAlgorithm, "its signature is made with a weak hash", depth: depth)
            case 79: TrustFlaw(.compliance, errSecNoBasicConstraintsCA, "it may issue no certificates", depth: depth)
            case 25:
                TrustFlaw(
                    .compliance, errSecPathLengthConstraintExceeded, "the chain below it is too long", depth: depth,
                    rank: 1)
            case 34:
                TrustFlaw(
                    .compliance, errSecUnknownCriticalExtensionFlag, "it has a critical extension that is not known",
                    depth: depth, rank: 2)
            case 47, 48, 49, 51, 52, 53:
                TrustFlaw(
                    .compliance, errSecInvalidName, "an issuer may not issue for its name", depth: depth, rank: 3)
            case 18, 19:
                TrustFlaw(.trust, errSecNotTrusted, "it is signed by itself and is no anchor", depth: depth)
            case 2, 7, 20, 21:
                TrustFlaw(.trust, errSecCreateChainFailed, "its issuer was not found", depth: depth, rank: 1)
            case 26: TrustFlaw(.usage, errSecInvalidExtendedKeyUsage, "it is not for this use", depth: depth)
            case 62, 64: TrustFlaw(.name, errSecHostNameMismatch, "it has other names", depth: depth)
            case 9: TrustFlaw(.expiry, errSecCertificateExpired, "it is not valid yet", depth: depth)
            case 10: TrustFlaw(.expiry, errSecCertificateExpired, "it is not valid any more", depth: depth)
            default:
                TrustFlaw(
                    .compliance, errSecInvalidCertificateRef, "libcrypto’s error \(finding.code)", depth: depth,
                    rank: 4)
            }
    }
}

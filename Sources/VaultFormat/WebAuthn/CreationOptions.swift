// SPDX-License-Identifier: Apache-2.0

/// The options of a registration (WebAuthn, 5.4).
package struct CreationOptions: Hashable, Sendable {
    package let common: CredentialOptions
    /// The name of the site, as the site wrote it; at most 256 bytes. Empty if missing.
    package let relyingPartyName: String
    /// 1 to 64 bytes.
    package let userID: [UInt8]
    /// At most 256 bytes, like the next. Empty if missing.
    package let userName: String
    package let displayName: String
    /// The algorithms in which new keys are made, the one that the site prefers first; at least one.
    package let algorithms: [COSEAlgorithm]
    /// The credentials that the site has already.
    package let excluded: Set<[UInt8]>
    /// Whether the site asks for the extension `credProps`.
    package let wantsProperties: Bool

    private static let userIDLengths = 1...64

    /// - Parameters:
    ///   - node: the object `publicKey`, with byte strings in base64url without padding. Unknown members are ignored.
    ///   - text: the text that contains it.
    /// - Throws: `.noOptions`, `.attestation`, `.noAlgorithm`, `.challenge`, `.userID`; `.other` for a list longer than
    ///   any site writes, a site that wants a security key, and for inputs of `prf` that belong to listed credentials.
    package init(_ node: JSONNode?, of text: Span<UInt8>) throws(PasskeyRefusal) {
        let options = try CredentialOptions.object(node)
        common = try CredentialOptions(
            options, of: text, relyingParty: options["rp"]?["id"],
            verification: options["authenticatorSelection"]?["userVerification"])
        let user = options["user"]
        guard let id = user?["id"]?.bytes(text), CreationOptions.userIDLengths.contains(id.count) else { throw .userID }
        userID = id
        userName = user?["name"]?.name(text) ?? ""
        displayName = user?["displayName"]?.name(text) ?? ""
        relyingPartyName = options["rp"]?["name"]?.name(text) ?? ""
        // A passkey of the vault is the platform's (WebAuthn, 5.1.3), so the browser has to ask a security key instead.
        guard options["authenticatorSelection"]?["authenticatorAttachment"]?.string(text) != "cross-platform" else {
            throw .other
        }
        // Sites write `direct` without need and accept none. Only `enterprise` demands the identity of the device.
        guard options["attestation"]?.string(text) != "enterprise" else { throw .attestation }
        algorithms = CreationOptions.algorithms(options["pubKeyCredParams"], of: text)
        guard !algorithms.isEmpty else { throw .noAlgorithm }
        excluded = try CredentialOptions.identifiers(options["excludeCredentials"], of: text)
        // A new credential is in no list (WebAuthn, 10.1.4, the client's part of a registration).
        guard common.pseudoRandom?.byCredential.isEmpty ?? true else { throw .other }
        wantsProperties = options["extensions"]?["credProps"]?.isTrue ?? false
    }

    private static func algorithms(_ parameters: JSONNode?, of text: Span<UInt8>) -> [COSEAlgorithm] {
        guard let parameters, parameters.isArray else { return [] }
        // An empty list stands for ES256 and RS256 (WebAuthn, 5.1.3).
        guard !parameters.elements.isEmpty else { return [.es256] }
        var found: [COSEAlgorithm] = []
        for parameter in parameters.elements where parameter.isPublicKey(text) {
            guard let number = parameter["alg"]?.number(text).flatMap({ Int(exactly: $0) }),
                let algorithm = COSEAlgorithm(rawValue: number), algorithm != .rs256, !found.contains(algorithm)
            else { continue }
            found.append(algorithm)
        }
        return found
    }
}

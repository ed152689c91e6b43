// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A passkey in CXF's parts (section 3.3.12). Only passkeys that do not count their signatures are exchanged.
enum CXFPasskey {
    private static let members = PortablePasskey.Members(
        credential: "credentialId", relyingParty: "rpId", user: "username", displayName: "userDisplayName",
        userHandle: "userHandle", key: "key", others: ["type", "fido2Extensions"])

    /// The keys of the extension `hmac-secret`, which is `prf` in browsers.
    private enum HMAC {
        static let member = "hmacCredentials"
        static let algorithm = "hmac-sha256"
        /// The key for a verified user, which browsers always use, and the key for another.
        static let verified = "credWithUV"
        static let unverified = "credWithoutUV"

        /// Returns the key for another user that CXF demands beside that for a verified one, where the vault has none:
        /// a different key, from which the other one cannot be told, and the same in each export.
        static func unverifiedKey(beside verified: Secret) throws(ImportError) -> Secret {
            let label = Array("vault.passkey.prf-without-uv".utf8)
            return try secured(Secret(try MessageAuthentication.sha256.code(of: label.span, key: verified.bytes)))
        }
    }

    /// - Parameter title: that of the item; `nil` unless it is the name of the site.
    /// - Returns: `nil` if no site could accept the passkey.
    static func usable(
        _ credential: JSONValue, title: String?, _ own: CXFExtension
    ) throws(ImportError) -> PortablePasskey? {
        guard let id = Base64URL.decoded(credential[members.credential]?.text ?? "") else { return nil }
        let site = credential[members.relyingParty]?.text ?? ""
        let stated = own[site, id]
        var others: [(String, JSONOutput)] = []
        let keys = try hmacKeys(credential["fido2Extensions"], others: &others)
        let siteName = stated?["rpName"]?.text ?? (title == site ? "" : title ?? "")
        guard
            var usable = try members.usable(
                credential, id, siteName: siteName, pseudoRandomKey: keys?.verified,
                isBackupEligible: stated?["backupEligible"]?.boolean ?? true)
        else { return nil }
        if let stated { try CXFExtension.read(stated, &usable) }
        usable.fields[PortablePasskey.Statement.unverifiedPseudoRandomKey] = keys?.unverified
        if !others.isEmpty { usable.fields[PortablePasskey.Statement.extensions] = try Secret.json(.object(others)) }
        return usable
    }

    /// - Parameter others: receives the other extensions, in JSON; keys in an unknown form are among them.
    private static func hmacKeys(
        _ extensions: JSONValue?, others: inout [(String, JSONOutput)]
    ) throws(ImportError) -> (verified: Secret, unverified: Secret?)? {
        var keys: (verified: Secret, unverified: Secret?)?
        func key(_ value: JSONValue, _ member: String) throws(ImportError) -> Secret? {
            try value[member]?.decodedBase64URL().flatMap { $0.count == 32 ? $0 : nil }
        }
        for (name, value) in extensions?.members ?? [] {
            switch (name, value["algorithm"]?.text) {
            case (HMAC.member, HMAC.algorithm) where keys == nil:
                guard let verified = try key(value, HMAC.verified), let unverified = try key(value, HMAC.unverified)
                else { break }
                let made = try HMAC.unverifiedKey(beside: verified)
                keys = (verified, [verified, made].contains { $0.isEqual(to: unverified) } ? nil : unverified)
                continue
            // The form of the specification's own example.
            case ("hmacSecret", "HS256") where keys == nil:
                guard let verified = try key(value, "secret") else { break }
                keys = (verified, nil)
                continue
            default: break
            }
            others.append((name, .source(try value.source())))
        }
        return keys
    }

    /// Returns whether the passkey may leave: one that counts would go on counting on both sides, and sites would take
    /// one of them for a copy.
    static func canWrite(_ portable: PortablePasskey) -> Bool { portable.passkey.counter == 0 }

    static func value(of portable: PortablePasskey) throws(ImportError) -> JSONOutput {
        let passkey = portable.passkey
        let extensions = try extensions(portable).map { [("fido2Extensions", $0)] } ?? []
        return .object(
            [
                ("type", .text(CXFCredential.passkey.type)),
                (members.credential, .text(Base64URL.encoded(passkey.credentialID))),
                (members.relyingParty, .text(passkey.relyingParty)), (members.user, .text(passkey.names.user)),
                (members.displayName, .text(passkey.names.display)),
                (members.userHandle, .base64URL(portable.userHandle)), (members.key, .base64URL(portable.key)),
            ] + extensions + portable.furtherMembers(beside: members))
    }

    private static func extensions(_ portable: PortablePasskey) throws(ImportError) -> JSONOutput? {
        let others = portable.fields[PortablePasskey.Statement.extensions].flatMap { $0.isShallowJSON() ? $0 : nil }
        guard portable.pseudoRandomKey != nil || others != nil else { return nil }
        var written: [(String, JSONOutput)] = []
        if let key = portable.pseudoRandomKey {
            var unverified = portable.fields[PortablePasskey.Statement.unverifiedPseudoRandomKey]
            if unverified == nil { unverified = try HMAC.unverifiedKey(beside: key) }
            let keys = JSONOutput.object(present: [
                ("algorithm", .text(HMAC.algorithm)), (HMAC.verified, .base64URL(key)),
                (HMAC.unverified, unverified.map(JSONOutput.base64URL)),
            ])
            written.append((HMAC.member, keys))
        }
        guard let others else { return .object(written) }
        for (name, value) in try JSONValue(Document(others)).members
        where portable.pseudoRandomKey == nil || name != HMAC.member {
            written.append((name, .source(try value.source())))
        }
        return .object(written)
    }
}

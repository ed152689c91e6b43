// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A passkey in CXF's parts (section 3.3.12). Only passkeys that do not count their signatures are exchanged.
enum CXFPasskey {
    private enum Member {
        static let credential = "credentialId"
        static let relyingParty = "rpId"
        static let user = "username"
        static let displayName = "userDisplayName"
        static let userHandle = "userHandle"
        static let key = "key"
        static let extensions = "fido2Extensions"
    }

    /// The keys of the extension `hmac-secret`, which is `prf` in browsers.
    private enum HMAC {
        static let member = "hmacCredentials"
        static let algorithm = "hmac-sha256"
        /// The key for a verified user, which browsers always use, and the key for another.
        static let verified = "credWithUV"
        static let unverified = "credWithoutUV"
        static let keyLength = 32
        /// The form of the specification's own example.
        static let example = (member: "hmacSecret", algorithm: "HS256", key: "secret")

        /// Returns the key for another user that CXF demands beside that for a verified one, where the vault has none:
        /// a different key, from which the other one cannot be told, and the same in each export.
        static func unverifiedKey(beside verified: Secret) throws(CryptoError) -> Secret {
            let label = Array("vault.passkey.prf-without-uv".utf8)
            return Secret(try MessageAuthentication.sha256.code(of: label.span, key: verified.bytes))
        }
    }

    // MARK: Reading

    /// - Parameters:
    ///   - title: that of the item; `nil` unless it is the name of the site.
    ///   - own: what this product stated about the item's passkeys.
    /// - Returns: `nil` if no site could accept the passkey.
    static func usable(
        _ credential: JSONValue, title: String?, _ own: CXFExtension
    ) throws(ImportError) -> PortablePasskey? {
        func text(_ member: String) -> String { credential[member]?.text ?? "" }
        let site = text(Member.relyingParty)
        guard let id = Base64URL.decoded(text(Member.credential)),
            let key = try credential[Member.key]?.decodedBase64URL(),
            let userHandle = try credential[Member.userHandle]?.decodedBase64URL()
        else { return nil }
        let statements = own[site, Base64URL.encoded(id)] ?? CXFExtension.Statements()
        let name = statements.relyingParty ?? (title == site ? "" : title ?? "")
        let names = Passkey.Names(relyingParty: name, user: text(Member.user), display: text(Member.displayName))
        var others: [(String, Secret)] = []
        let keys = try hmacKeys(credential[Member.extensions], others: &others)
        guard
            var usable = try PortablePasskey.usable(
                site, names, credentialID: id, key: key, userHandle: userHandle, pseudoRandomKey: keys?.verified,
                isBackupEligible: statements.isBackupEligible)
        else { return nil }
        usable.attributes = statements.attributes
        usable.fields = statements.fields
        usable.fields[PortablePasskey.Statement.unverifiedPseudoRandomKey] = keys?.unverified
        if !others.isEmpty {
            usable.fields[PortablePasskey.Statement.extensions] =
                try Secret(json: .object(others.map { ($0, .source($1)) }))
        }
        for (member, value) in credential.members where !isOwn(member) {
            usable.fields[PortablePasskey.Statement.member + member] = try value.source()
        }
        return usable
    }

    /// Returns whether a member is one of CXF's.
    private static func isOwn(_ member: String) -> Bool {
        member == "type" || CXFCredential.passkey.members.contains { $0.name == member }
    }

    /// Returns the keys of `hmac-secret`, the second only if it is another.
    ///
    /// - Parameter others: receives the other extensions, in JSON; keys in an unknown form are among them.
    private static func hmacKeys(
        _ extensions: JSONValue?, others: inout [(String, Secret)]
    ) throws(ImportError) -> (verified: Secret, unverified: Secret?)? {
        var keys: (verified: Secret, unverified: Secret?)?
        for (name, value) in extensions?.members ?? [] {
            switch name {
            case HMAC.member where keys == nil && value["algorithm"]?.text == HMAC.algorithm:
                guard let verified = try value[HMAC.verified]?.decodedBase64URL(), verified.count == HMAC.keyLength,
                    let unverified = try value[HMAC.unverified]?.decodedBase64URL(),
                    unverified.count == HMAC.keyLength
                else { break }
                let made = try secured(try HMAC.unverifiedKey(beside: verified))
                keys = (verified, [verified, made].contains { $0.isEqual(to: unverified) } ? nil : unverified)
                continue
            case HMAC.example.member where keys == nil && value["algorithm"]?.text == HMAC.example.algorithm:
                guard let key = try value[HMAC.example.key]?.decodedBase64URL(), key.count == HMAC.keyLength else {
                    break
                }
                keys = (key, nil)
                continue
            default: break
            }
            others.append((name, try value.source()))
        }
        return keys
    }

    // MARK: Writing

    /// Returns whether the passkey may leave: one that counts would go on counting on both sides, and sites would take
    /// one of them for a copy.
    static func canWrite(_ portable: PortablePasskey) -> Bool { portable.passkey.counter == 0 }

    static func value(of portable: PortablePasskey) throws(CryptoError) -> JSONOutput {
        let passkey = portable.passkey
        var members: [(String, JSONOutput)] = [
            ("type", .text(CXFCredential.passkey.type)),
            (Member.credential, .text(Base64URL.encoded(passkey.credentialID))),
            (Member.relyingParty, .text(passkey.relyingParty)), (Member.user, .text(passkey.names.user)),
            (Member.displayName, .text(passkey.names.display)), (Member.userHandle, .base64URL(portable.userHandle)),
            (Member.key, .base64URL(portable.key)),
        ]
        if let extensions = try extensions(portable) { members.append((Member.extensions, extensions)) }
        return .object(members + portable.furtherMembers { !isOwn($0) })
    }

    private static func extensions(_ portable: PortablePasskey) throws(CryptoError) -> JSONOutput? {
        let others = portable.fields[PortablePasskey.Statement.extensions].flatMap { $0.isShallowJSON() ? $0 : nil }
        guard portable.pseudoRandomKey != nil || others != nil else { return nil }
        var members: [(String, JSONOutput)] = []
        if let key = portable.pseudoRandomKey {
            var unverified = portable.fields[PortablePasskey.Statement.unverifiedPseudoRandomKey]
            if unverified == nil { unverified = try HMAC.unverifiedKey(beside: key) }
            let keys = [(HMAC.verified, key)] + (unverified.map { [(HMAC.unverified, $0)] } ?? [])
            members.append(
                (
                    HMAC.member,
                    .object([("algorithm", .text(HMAC.algorithm))] + keys.map { ($0, .base64URL($1)) })
                ))
        }
        if let others, let document = try? Document(others), let value = try? JSONValue(document) {
            for (name, value) in value.members where portable.pseudoRandomKey == nil || name != HMAC.member {
                guard let source = try? value.source() else { throw .outOfMemory }
                members.append((name, .source(source)))
            }
        }
        return .object(members)
    }
}

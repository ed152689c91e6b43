// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A passkey in Bitwarden's parts (`login.fido2Credentials`).
///
/// A passkey that is not usable here becomes attributes and fields of the login, each named `passkey.NAME`, or
/// `passkey.2.NAME` for a second one; earlier versions imported all of them so.
enum BitwardenPasskey {
    /// A member of Bitwarden's object, and its name among the attributes or fields of a login.
    private struct Part {
        let member: String
        let name: String
        let isPublic: Bool

        init(_ member: String, _ name: String, isPublic: Bool = true) {
            (self.member, self.name, self.isPublic) = (member, name, isPublic)
        }
    }

    private enum Member {
        static let credential = "credentialId"
        static let keyType = "keyType"
        static let algorithm = "keyAlgorithm"
        static let curve = "keyCurve"
        static let key = "keyValue"
        static let relyingParty = "rpId"
        static let userHandle = "userHandle"
        static let user = "userName"
        static let counter = "counter"
        static let relyingPartyName = "rpName"
        static let displayName = "userDisplayName"
        static let discoverable = "discoverable"
        static let created = "creationDate"
    }

    /// The values of all passkeys that Bitwarden makes.
    private static let constants = [
        (Member.keyType, "public-key"), (Member.algorithm, "ECDSA"), (Member.curve, "P-256"),
    ]

    /// The parts, in the order in which Bitwarden writes them.
    private static let parts = [
        Part(Member.credential, "credential"), Part(Member.keyType, "key-type"),
        Part(Member.algorithm, "key-algorithm"), Part(Member.curve, "key-curve"),
        Part(Member.key, "key", isPublic: false), Part(Member.relyingParty, "rp"),
        Part(Member.userHandle, "user-handle", isPublic: false), Part(Member.user, "user"),
        Part(Member.counter, "counter"), Part(Member.relyingPartyName, "rp-name"),
        Part(Member.displayName, "display-name"), Part(Member.discoverable, "discoverable"),
        Part(Member.created, "created"),
    ]

    // MARK: Reading

    /// Reads the passkeys of a login.
    static func read(_ passkeys: [JSONValue], _ login: inout Login) throws(ImportError) {
        var others = 0
        for passkey in passkeys {
            if let usable = try usable(passkey) {
                login.passkeys.append(usable)
            } else {
                others += 1
                try readParts(passkey, number: others, &login)
            }
        }
    }

    private static func usable(_ passkey: JSONValue) throws(ImportError) -> PortablePasskey? {
        func text(_ member: String) -> String { passkey[member]?.text ?? "" }
        guard constants.allSatisfy({ text($0.0) == $0.1 }), let id = credentialID(text(Member.credential)),
            let key = try passkey[Member.key]?.decodedBase64URL(),
            let userHandle = try passkey[Member.userHandle]?.decodedBase64URL(),
            let counter = UInt32(text(Member.counter))
        else { return nil }
        let names = Passkey.Names(
            relyingParty: text(Member.relyingPartyName), user: text(Member.user), display: text(Member.displayName))
        // Bitwarden synchronizes every passkey, and tells sites so.
        var usable = try PortablePasskey.usable(
            text(Member.relyingParty), names, credentialID: id, key: key, userHandle: userHandle, counter: counter,
            isBackupEligible: true)
        if let created = passkey[Member.created]?.text {
            usable?.attributes[PortablePasskey.Statement.created] = created
        }
        let discoverable = text(Member.discoverable)
        if discoverable != "true" { usable?.attributes[PortablePasskey.Statement.discoverable] = discoverable }
        for (member, value) in passkey.members where !parts.contains(where: { $0.member == member }) {
            usable?.fields[PortablePasskey.Statement.member + member] = try value.source()
        }
        return usable
    }

    /// The prefix in front of an identifier that is not a UUID.
    private static let base64Prefix = "b64."

    /// - Parameter text: a UUID, or base64url behind a prefix.
    private static func credentialID(_ text: String) -> [UInt8]? {
        if text.hasPrefix(base64Prefix) { return Base64URL.decoded(String(text.dropFirst(base64Prefix.count))) }
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12] else { return nil }
        return bytes(hexadecimal: groups.joined())
    }

    private static func text(ofCredential id: [UInt8]) -> String {
        id.count == 16 ? uuid(id) : base64Prefix + Base64URL.encoded(id)
    }

    /// - Parameter bytes: 16.
    static func uuid(_ bytes: [UInt8]) -> String {
        let digits = Array(hexadecimal(bytes))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    private static func prefix(_ number: Int) -> String { number == 1 ? "passkey." : "passkey.\(number)." }

    private static func readParts(_ passkey: JSONValue, number: Int, _ login: inout Login) throws(ImportError) {
        for (member, value) in passkey.members {
            let part = parts.first { $0.member == member }
            let name = prefix(number) + (part?.name ?? member)
            if let part, part.isPublic {
                login.addAttribute(name, value.text)
            } else {
                login.addField(name, try value.secretOrSource())
            }
        }
    }

    // MARK: Writing

    /// Removes the passkeys that are attributes and fields of an entry.
    ///
    /// - Returns: each passkey, with Bitwarden's names and in Bitwarden's order.
    static func takeParts(from entry: inout ExportEntry) throws(CryptoError) -> [JSONOutput] {
        var passkeys: [JSONOutput] = []
        while true {
            let prefix = prefix(passkeys.count + 1)
            let names = entry.fields.map(\.name) + entry.attributes.map(\.name)
            // Without these two parts a passkey is unusable.
            guard names.contains(prefix + "key"), names.contains(prefix + "credential") else { return passkeys }
            var members: [(String, JSONOutput)] = []
            for part in parts {
                var value = JSONOutput.secret(nil)
                if let index = entry.fields.firstIndex(where: { $0.name == prefix + part.name }) {
                    value = .secret(entry.fields.remove(at: index).secret)
                } else if let index = entry.attributes.firstIndex(where: { $0.name == prefix + part.name }) {
                    value = .text(entry.attributes.remove(at: index).value)
                }
                members.append((part.member, value))
            }
            passkeys.append(.object(members))
        }
    }

    /// Counts the passkeys and their parts that Bitwarden has no room for.
    static func count(_ passkeys: [PortablePasskey], _ entries: inout ExportedEntries) {
        entries.leaveOut("passkeys with a key other than of P-256", passkeys.count { !canWrite($0) })
        let written = passkeys.filter { canWrite($0) }
        entries.leaveOut("keys of the passkey extension prf", written.count { $0.pseudoRandomKey != nil })
        // Bitwarden tells sites that every passkey can be backed up.
        entries.leaveOut(
            "statements that a passkey cannot be backed up", written.count { !$0.passkey.isBackupEligible })
        entries.leaveOut("further extensions of passkeys", written.count { $0.hasFurtherExtensions })
    }

    /// Returns whether Bitwarden can use the passkey: it knows P-256 alone.
    static func canWrite(_ portable: PortablePasskey) -> Bool { portable.passkey.algorithm == .es256 }

    /// - Parameter created: the time for a passkey without a statement of its own.
    static func value(of portable: PortablePasskey, created: String) -> JSONOutput {
        let passkey = portable.passkey
        // Foreign readers compare the identifiers as texts.
        let texts = [
            Member.credential: text(ofCredential: passkey.credentialID), Member.relyingParty: passkey.relyingParty,
            Member.user: passkey.names.user, Member.counter: String(passkey.counter),
            Member.relyingPartyName: passkey.names.relyingParty, Member.displayName: passkey.names.display,
            Member.discoverable: portable.attributes[PortablePasskey.Statement.discoverable] ?? "true",
            Member.created: portable.attributes[PortablePasskey.Statement.created] ?? created,
        ].merging(constants) { first, _ in first }
        let members = parts.map { part -> (String, JSONOutput) in
            switch part.member {
            case Member.key: (part.member, .base64URL(portable.key))
            case Member.userHandle: (part.member, .base64URL(portable.userHandle))
            default: (part.member, texts[part.member].map { $0.isEmpty ? .json("null") : .text($0) } ?? .json("null"))
            }
        }
        // Another product's member may have the name of one of Bitwarden's.
        return .object(members + portable.furtherMembers { name in !parts.contains { $0.member == name } })
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A passkey in Bitwarden's parts (`login.fido2Credentials`).
///
/// A passkey that is not usable here becomes attributes and fields of the login, each named `passkey.NAME`, or
/// `passkey.2.NAME` for a second one; earlier versions imported all of them so.
enum BitwardenPasskey {
    /// The members of Bitwarden's object, in the order in which Bitwarden writes them.
    private enum Member: String, CaseIterable {
        case credential = "credentialId", keyType, algorithm = "keyAlgorithm", curve = "keyCurve", key = "keyValue"
        case relyingParty = "rpId", userHandle, user = "userName", counter, relyingPartyName = "rpName"
        case displayName = "userDisplayName", discoverable, created = "creationDate"

        /// The name among the attributes or fields of a login.
        var name: String {
            switch self {
            case .keyType: "key-type"
            case .algorithm: "key-algorithm"
            case .curve: "key-curve"
            case .relyingParty: "rp"
            case .userHandle: "user-handle"
            case .relyingPartyName: "rp-name"
            case .displayName: "display-name"
            case .created: "created"
            case .credential: "credential"
            case .key: "key"
            case .user: "user"
            case .counter, .discoverable: rawValue
            }
        }

        var isPublic: Bool { self != .key && self != .userHandle }
    }

    /// The values of all passkeys that Bitwarden makes.
    private static let constants: [(Member, String)] = [
        (.keyType, "public-key"), (.algorithm, "ECDSA"), (.curve, "P-256"),
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
        func text(_ member: Member) -> String { passkey[member.rawValue]?.text ?? "" }
        guard constants.allSatisfy({ text($0.0) == $0.1 }), let id = credentialID(text(.credential)),
            let key = try passkey[Member.key.rawValue]?.decodedBase64URL(),
            let userHandle = try passkey[Member.userHandle.rawValue]?.decodedBase64URL(),
            let counter = UInt32(text(.counter))
        else { return nil }
        let names = Passkey.Names(
            relyingParty: text(.relyingPartyName), user: text(.user), display: text(.displayName))
        // Bitwarden synchronizes every passkey, and tells sites so.
        var usable = try PortablePasskey.usable(
            text(.relyingParty), names, credentialID: id, key: key, userHandle: userHandle, counter: counter,
            isBackupEligible: true)
        if let created = passkey[Member.created.rawValue]?.text {
            usable?.attributes[PortablePasskey.Statement.created] = created
        }
        let discoverable = text(.discoverable)
        if discoverable != "true" { usable?.attributes[PortablePasskey.Statement.discoverable] = discoverable }
        for (member, value) in passkey.members where Member(rawValue: member) == nil {
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
            let part = Member(rawValue: member)
            let name = prefix(number) + (part?.name ?? member)
            if part?.isPublic == true {
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
            for part in Member.allCases {
                var value = JSONOutput.secret(nil)
                if let index = entry.fields.firstIndex(where: { $0.name == prefix + part.name }) {
                    value = .secret(entry.fields.remove(at: index).secret)
                } else if let index = entry.attributes.firstIndex(where: { $0.name == prefix + part.name }) {
                    value = .text(entry.attributes.remove(at: index).value)
                }
                members.append((part.rawValue, value))
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
        let texts: [Member: String] = [
            .credential: text(ofCredential: passkey.credentialID), .relyingParty: passkey.relyingParty,
            .user: passkey.names.user, .counter: String(passkey.counter),
            .relyingPartyName: passkey.names.relyingParty, .displayName: passkey.names.display,
            .discoverable: portable.attributes[PortablePasskey.Statement.discoverable] ?? "true",
            .created: portable.attributes[PortablePasskey.Statement.created] ?? created,
        ].merging(constants) { first, _ in first }
        let members = Member.allCases.map { member -> (String, JSONOutput) in
            switch member {
            case .key: (member.rawValue, .base64URL(portable.key))
            case .userHandle: (member.rawValue, .base64URL(portable.userHandle))
            default: (member.rawValue, texts[member].map { $0.isEmpty ? .secret(nil) : .text($0) } ?? .secret(nil))
            }
        }
        // Another product's member may have the name of one of Bitwarden's.
        return .object(members + portable.furtherMembers { Member(rawValue: $0) == nil })
    }
}

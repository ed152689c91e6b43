// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A passkey in Bitwarden's parts (`login.fido2Credentials`).
///
/// A passkey that is not usable here becomes attributes and fields of the login, each named `passkey.NAME`, or
/// `passkey.2.NAME` for a second one; earlier versions imported all of them so.
enum BitwardenPasskey {
    /// Bitwarden's members in its order, each with its name among the attributes or fields of a login.
    private static let parts = [
        ("credentialId", "credential"), ("keyType", "key-type"), ("keyAlgorithm", "key-algorithm"),
        ("keyCurve", "key-curve"), ("keyValue", "key"), ("rpId", "rp"), ("userHandle", "user-handle"),
        ("userName", "user"), ("counter", "counter"), ("rpName", "rp-name"), ("userDisplayName", "display-name"),
        ("discoverable", "discoverable"), ("creationDate", "created"),
    ]
    private static let members = PortablePasskey.Members(
        credential: "credentialId", relyingParty: "rpId", user: "userName", displayName: "userDisplayName",
        userHandle: "userHandle", key: "keyValue", others: Set(parts.map(\.0)))

    /// The values of all passkeys that Bitwarden makes.
    private static let constants = ["keyType": "public-key", "keyAlgorithm": "ECDSA", "keyCurve": "P-256"]

    static func read(_ passkeys: [JSONValue], _ login: inout Login) throws(ImportError) {
        var others = 0
        for passkey in passkeys {
            if let usable = try usable(passkey) {
                login.passkeys.append(usable)
            } else {
                others += 1
                try readParts(passkey, prefix(others), &login)
            }
        }
    }

    private static func usable(_ passkey: JSONValue) throws(ImportError) -> PortablePasskey? {
        func text(_ member: String) -> String { passkey[member]?.text ?? "" }
        guard constants.allSatisfy({ text($0.key) == $0.value }), let id = credentialID(text(members.credential)),
            let counter = UInt32(text("counter"))
        else { return nil }
        // Bitwarden synchronizes every passkey, and tells sites so.
        var usable = try members.usable(passkey, id, siteName: text("rpName"), counter: counter, isBackupEligible: true)
        usable?.attributes[PortablePasskey.Statement.created] = passkey["creationDate"]?.text
        let discoverable = text("discoverable")
        if discoverable != "true" { usable?.attributes[PortablePasskey.Statement.discoverable] = discoverable }
        return usable
    }

    /// The prefix in front of an identifier that is not a UUID.
    private static let base64Prefix = "b64."

    private static func credentialID(_ text: String) -> [UInt8]? {
        if text.hasPrefix(base64Prefix) { return Base64URL.decoded(String(text.dropFirst(base64Prefix.count))) }
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12] else { return nil }
        return bytes(hexadecimal: groups.joined())
    }

    static func uuid(_ bytes: [UInt8]) -> String {
        let digits = Array(hexadecimal(bytes))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    private static func prefix(_ number: Int) -> String { CXFNames.numbered("passkey", number) + "." }

    private static func readParts(_ passkey: JSONValue, _ prefix: String, _ login: inout Login) throws(ImportError) {
        for (member, value) in passkey.members {
            let part = parts.first { $0.0 == member }?.1
            let name = prefix + (part ?? member)
            if part == nil || [members.key, members.userHandle].contains(member) {
                login.addField(name, try value.secretOrSource())
            } else {
                login.addAttribute(name, value.text)
            }
        }
    }

    /// Removes the passkeys that are attributes and fields of an entry, and returns them in Bitwarden's form.
    static func takeParts(from entry: inout ExportEntry) -> [JSONOutput] {
        var passkeys: [JSONOutput] = []
        while true {
            let prefix = prefix(passkeys.count + 1)
            let names = entry.fields.map(\.name) + entry.attributes.map(\.name)
            // Without these two parts a passkey is unusable.
            guard names.contains(prefix + "key"), names.contains(prefix + "credential") else { return passkeys }
            passkeys.append(
                .object(
                    parts.map { member, name in
                        if let secret = entry.takeField(prefix + name) { return (member, .secret(secret)) }
                        return (member, entry.takeAttribute(prefix + name).map(JSONOutput.text) ?? .secret(nil))
                    }))
        }
    }

    static func count(_ passkeys: [PortablePasskey], _ entries: inout ExportedEntries) {
        entries.leaveOut("passkeys with a key other than of P-256", passkeys.count { !canWrite($0) })
        let written = passkeys.filter { canWrite($0) }
        entries.leaveOut("keys of the passkey extension prf", written.count { $0.pseudoRandomKey != nil })
        // Bitwarden tells sites that every passkey can be backed up.
        entries.leaveOut(
            "statements that a passkey cannot be backed up", written.count { !$0.passkey.isBackupEligible })
        entries.leaveOut("further extensions of passkeys", written.count { $0.hasFurtherExtensions })
    }

    /// Bitwarden knows P-256 alone.
    static func canWrite(_ portable: PortablePasskey) -> Bool { portable.passkey.algorithm == .es256 }

    static func value(of portable: PortablePasskey, created: String) -> JSONOutput {
        let (passkey, stated) = (portable.passkey, portable.attributes)
        let id = passkey.credentialID
        // Foreign readers compare the identifiers as texts.
        let texts = [
            "credentialId": id.count == 16 ? uuid(id) : base64Prefix + Base64URL.encoded(id),
            "rpId": passkey.relyingParty, "userName": passkey.names.user, "counter": String(passkey.counter),
            "rpName": passkey.names.relyingParty, "userDisplayName": passkey.names.display,
            "discoverable": stated[PortablePasskey.Statement.discoverable] ?? "true",
            "creationDate": stated[PortablePasskey.Statement.created] ?? created,
        ].merging(constants) { first, _ in first }
        let values = parts.map { member, _ -> (String, JSONOutput) in
            switch member {
            case members.key: (member, .base64URL(portable.key))
            case members.userHandle: (member, .base64URL(portable.userHandle))
            default: (member, texts[member].flatMap { $0.isEmpty ? nil : .text($0) } ?? .secret(nil))
            }
        }
        return .object(values + portable.furtherMembers(beside: members))
    }
}

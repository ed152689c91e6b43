// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A passkey in KeePassXC's attributes of an entry, which has at most one. KeePassDX and others added the flags and the
/// key of the extension `prf`.
enum KeePassPasskey {
    private enum Name {
        static let user = "KPEX_PASSKEY_USERNAME"
        static let credential = "KPEX_PASSKEY_CREDENTIAL_ID"
        static let key = "KPEX_PASSKEY_PRIVATE_KEY_PEM"
        static let relyingParty = "KPEX_PASSKEY_RELYING_PARTY"
        static let userHandle = "KPEX_PASSKEY_USER_HANDLE"
        static let pseudoRandom = "KPEX_PASSKEY_PRF"
        /// The flags, by their names in statements.
        static let flags = [("BE", "KPEX_PASSKEY_FLAG_BE"), ("BS", "KPEX_PASSKEY_FLAG_BS")]
        /// The names in databases of StrongBox, which KeePassXC prefers too.
        static let strongBoxCredential = "KPEX_PASSKEY_GENERATED_USER_ID"
        static let strongBoxUser = "KPXC_PASSKEY_USERNAME"

        static let all = Set(
            [user, credential, key, relyingParty, userHandle, pseudoRandom, strongBoxCredential, strongBoxUser]
                + flags.map(\.1))
    }

    /// Takes a passkey out of the attributes and fields of an entry; an unusable one stays there.
    static func read(_ login: inout Login) throws(ImportError) {
        // Whether a value is protected differs between programs.
        var values: [String: Secret] = [:]
        for (name, value) in login.attributes where Name.all.contains(name) { values[name] = try Secret(plain: value) }
        for (name, secret) in login.fields where Name.all.contains(name) { values[name] = secret }
        func text(_ name: String) -> String? { values[name]?.plainText }
        guard let relyingParty = text(Name.relyingParty),
            let id = (text(Name.strongBoxCredential) ?? text(Name.credential)).flatMap({ Base64URL.decoded($0) }),
            let pem = values[Name.key], let key = try PEM.decoded(pem),
            let userHandle = try values[Name.userHandle]?.decodedBase64URL()
        else { return }
        let pseudoRandomKey = try values[Name.pseudoRandom]?.decodedBase64()
        guard values[Name.pseudoRandom] == nil || pseudoRandomKey != nil else { return }
        let names = Passkey.Names(user: text(Name.strongBoxUser) ?? text(Name.user) ?? "")
        let flags = Name.flags.compactMap { flag, name in text(name).map { "\(flag)=\($0)" } }
        // KeePassXC itself has no flags, and tells sites that a passkey cannot be backed up.
        let usable = try PortablePasskey.usable(
            relyingParty, names, credentialID: id, key: key, userHandle: userHandle, pseudoRandomKey: pseudoRandomKey,
            isBackupEligible: flags.contains("BE=1"))
        guard var passkey = usable else { return }
        passkey.attributes[PortablePasskey.Statement.flags] = flags.isEmpty ? "none" : flags.joined(separator: " ")
        if try !PEM.encoded(key).isEqual(to: pem) { passkey.fields[PortablePasskey.Statement.pem] = pem }
        login.passkeys.append(passkey)
        login.attributes.removeAll { Name.all.contains($0.name) }
        login.fields.removeAll { Name.all.contains($0.name) }
    }

    static func divided(_ entries: [ExportEntry]) -> [ExportEntry] {
        entries.flatMap { entry in
            [entry]
                + entry.passkeys.dropFirst().map { passkey in
                    var further = ExportEntry(passkey)
                    further.folder = entry.folder
                    return further
                }
        }
    }

    static func count(_ entries: inout ExportedEntries) {
        let passkeys = entries.entries.flatMap(\.passkeys)
        let names = passkeys.map(\.passkey.names)
        entries.leaveOut("signature counters of passkeys", passkeys.count { $0.passkey.counter > 0 })
        entries.leaveOut("display names of passkeys", names.count { !["", $0.user].contains($0.display) })
        entries.leaveOut("further extensions of passkeys", passkeys.count { $0.hasFurtherExtensions })
    }

    static func attributes(of portable: PortablePasskey) -> [(name: String, value: String)] {
        let passkey = portable.passkey
        let flag = passkey.isBackupEligible ? "1" : "0"
        // An exported passkey is backed up.
        let flags = portable.attributes[PortablePasskey.Statement.flags] ?? "BE=\(flag) BS=\(flag)"
        let parts = flags.split(separator: " ").map {
            $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        }
        return [(Name.relyingParty, passkey.relyingParty), (Name.user, passkey.names.user)]
            + parts.filter { $0.count == 2 }.map { (Name.flags[$0[0] == "BE" ? 0 : 1].1, $0[1]) }
    }

    static func secrets(of portable: PortablePasskey) throws(ImportError) -> [(name: String, value: Secret)] {
        var pem = portable.fields[PortablePasskey.Statement.pem]
        if pem == nil { pem = try PEM.encoded(portable.key) }
        return [
            (Name.credential, try Secret(plain: Base64URL.encoded(portable.passkey.credentialID))), (Name.key, pem),
            (Name.userHandle, try portable.userHandle.encodedBase64(forURL: true)),
            (Name.pseudoRandom, try portable.pseudoRandomKey?.encodedBase64()),
        ].compactMap { name, secret in secret.map { (name, $0) } }
    }
}

/// The text of a private key (RFC 7468, 10), as Botan, KeePassXC's library, writes it: 64 digits a line.
private enum PEM {
    private static let head = "-----BEGIN PRIVATE KEY-----"
    private static let end = "-----END PRIVATE KEY-----"
    private static let lineLength = 48

    static func decoded(_ text: Secret) throws(ImportError) -> Secret? {
        try text.withBytes { bytes throws(ImportError) in
            let (first, last) = (bytes.indices.first { !bytes[$0].isBlank }, bytes.indices.last { !bytes[$0].isBlank })
            let place = (first ?? 0)..<(last ?? -1) + 1
            guard bytes.starts(place, with: head), place.count >= head.utf8.count + end.utf8.count,
                bytes.starts(place.upperBound - end.utf8.count..<place.upperBound, with: end)
            else { return nil }
            let content = place.dropFirst(head.utf8.count).dropLast(end.utf8.count)
            return try Secret.decoding(base64: bytes.extracting(content))
        }
    }

    static func encoded(_ der: Secret) throws(ImportError) -> Secret {
        try .assembled(capacity: der.count * 3 / 2 + 64) { text throws(CryptoError) in
            try text.append(head + "\n")
            try der.withBytes { bytes throws(CryptoError) in
                for start in stride(from: 0, to: bytes.count, by: lineLength) {
                    try text.append(base64: bytes.extracting(start..<min(start + lineLength, bytes.count)))
                    try text.append("\n")
                }
            }
            try text.append(end + "\n")
        }
    }
}

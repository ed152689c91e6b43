// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// A passkey in KeePassXC's attributes of an entry, which has at most one. KeePassDX and others added the flags and the
/// key of the extension `prf`.
enum KeePassPasskey {
    private enum Name {
        static let prefix = "KPEX_PASSKEY_"
        static let user = prefix + "USERNAME"
        static let credential = prefix + "CREDENTIAL_ID"
        static let key = prefix + "PRIVATE_KEY_PEM"
        static let relyingParty = prefix + "RELYING_PARTY"
        static let userHandle = prefix + "USER_HANDLE"
        static let backupEligible = prefix + "FLAG_BE"
        static let backedUp = prefix + "FLAG_BS"
        static let pseudoRandom = prefix + "PRF"
        /// The names in databases of StrongBox, which KeePassXC prefers too.
        static let strongBoxCredential = prefix + "GENERATED_USER_ID"
        static let strongBoxUser = "KPXC_PASSKEY_USERNAME"

        static let all: Set = [
            user, credential, key, relyingParty, userHandle, backupEligible, backedUp, pseudoRandom,
            strongBoxCredential, strongBoxUser,
        ]
    }

    private enum Flags {
        static let none = "none"
        static let backupEligible = "BE"
        static let backedUp = "BS"
    }

    // MARK: Reading

    /// Takes a passkey out of the attributes and fields of an entry; an unusable one stays there.
    static func read(_ login: inout Login) throws(ImportError) {
        var texts: [String: String] = [:]
        for (name, value) in login.attributes where Name.all.contains(name) { texts[name] = value }
        var secrets: [String: Secret] = [:]
        for (name, secret) in login.fields where Name.all.contains(name) { secrets[name] = secret }
        // Whether a value is protected differs between programs.
        func text(_ name: String) -> String? { texts[name] ?? secrets[name]?.plainText }
        func secret(_ name: String) throws(ImportError) -> Secret? {
            if let secret = secrets[name] { return secret }
            return try texts[name].map { text throws(ImportError) in try Secret(plain: text) }
        }
        guard let relyingParty = text(Name.relyingParty),
            let id = (text(Name.strongBoxCredential) ?? text(Name.credential)).flatMap({ Base64URL.decoded($0) }),
            let pem = try secret(Name.key), let key = try PEM.decoded(pem),
            let userHandle = try secret(Name.userHandle)?.decodedBase64URL()
        else { return }
        let encodedKey = try secret(Name.pseudoRandom)
        let pseudoRandomKey = try encodedKey?.decodedBase64()
        guard encodedKey == nil || pseudoRandomKey != nil else { return }
        let names = Passkey.Names(user: text(Name.strongBoxUser) ?? text(Name.user) ?? "")
        // KeePassXC itself has no flags, and tells sites that a passkey cannot be backed up.
        let usable = try PortablePasskey.usable(
            relyingParty, names, credentialID: id, key: key, userHandle: userHandle, pseudoRandomKey: pseudoRandomKey,
            isBackupEligible: text(Name.backupEligible) == "1")
        guard var passkey = usable else { return }
        let flags = [(Flags.backupEligible, Name.backupEligible), (Flags.backedUp, Name.backedUp)]
            .compactMap { flag, name in text(name).map { "\(flag)=\($0)" } }
        passkey.attributes[PortablePasskey.Statement.flags] = flags.isEmpty ? Flags.none : flags.joined(separator: " ")
        if !(try secured(try PEM.encoded(key))).isEqual(to: pem) {
            passkey.fields[PortablePasskey.Statement.pem] = pem
        }
        login.passkeys.append(passkey)
        login.attributes.removeAll { Name.all.contains($0.name) }
        login.fields.removeAll { Name.all.contains($0.name) }
    }

    // MARK: Writing

    /// Returns the entries with an entry for each further passkey.
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

    /// Counts the parts that the attributes cannot represent.
    static func count(_ entries: inout ExportedEntries) {
        let passkeys = entries.entries.flatMap(\.passkeys).map(\.passkey)
        entries.leaveOut("signature counters of passkeys", passkeys.count { $0.counter > 0 })
        entries.leaveOut(
            "display names of passkeys", passkeys.count { !["", $0.names.user].contains($0.names.display) })
        entries.leaveOut(
            "further extensions of passkeys",
            entries.entries.reduce(0) { $0 + $1.passkeys.count { $0.hasFurtherExtensions } })
    }

    /// Returns the attributes that are not protected.
    static func attributes(of portable: PortablePasskey) -> [(name: String, value: String)] {
        let passkey = portable.passkey
        var attributes = [(Name.relyingParty, passkey.relyingParty), (Name.user, passkey.names.user)]
        let flag = passkey.isBackupEligible ? "1" : "0"
        // An exported passkey is backed up.
        let flags =
            portable.attributes[PortablePasskey.Statement.flags]
            ?? "\(Flags.backupEligible)=\(flag) \(Flags.backedUp)=\(flag)"
        for part in flags.split(separator: " ") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard pair.count == 2 else { continue }
            attributes.append((pair[0] == Flags.backupEligible ? Name.backupEligible : Name.backedUp, pair[1]))
        }
        return attributes
    }

    /// Returns the protected attributes.
    static func secrets(of portable: PortablePasskey) throws(CryptoError) -> [(name: String, value: Secret)] {
        let id = Base64URL.encoded(portable.passkey.credentialID)
        let pem: Secret
        if let given = portable.fields[PortablePasskey.Statement.pem] {
            pem = given
        } else {
            pem = try PEM.encoded(portable.key)
        }
        var secrets = [
            (Name.credential, try Secret(copying: id)), (Name.key, pem),
            (Name.userHandle, try portable.userHandle.encodedBase64URL()),
        ]
        if let key = portable.pseudoRandomKey {
            var text = try SecretBuffer(capacity: 48)
            try key.withBytes { bytes throws(CryptoError) in try text.append(base64: bytes) }
            secrets.append((Name.pseudoRandom, Secret(try text.take())))
        }
        return secrets
    }
}

/// The text of a private key (RFC 7468, 10), as Botan, KeePassXC's library, writes it: 64 digits a line.
private enum PEM {
    private static let head = "-----BEGIN PRIVATE KEY-----"
    private static let end = "-----END PRIVATE KEY-----"
    /// The bytes of a line of 64 digits.
    private static let lineLength = 48

    /// Returns the bytes; `nil` for another text.
    static func decoded(_ text: Secret) throws(ImportError) -> Secret? {
        try text.withBytes { bytes throws(ImportError) in
            let place = bytes.trimmedOfLines
            guard bytes.starts(place, with: head), place.count >= head.utf8.count + end.utf8.count,
                bytes.starts(place.upperBound - end.utf8.count..<place.upperBound, with: end)
            else { return nil }
            let content = place.dropFirst(head.utf8.count).dropLast(end.utf8.count)
            return try Secret.decoding(base64: bytes.extracting(content))
        }
    }

    static func encoded(_ der: Secret) throws(CryptoError) -> Secret {
        var text = try SecretBuffer(capacity: der.count * 3 / 2 + 64)
        try text.append(head + "\n")
        try der.withBytes { bytes throws(CryptoError) in
            var start = 0
            while start < bytes.count {
                let next = min(start + lineLength, bytes.count)
                try text.append(base64: bytes.extracting(start..<next))
                try text.append("\n")
                start = next
            }
        }
        try text.append(end + "\n")
        return Secret(try text.take())
    }
}

extension Span<UInt8> {
    /// The range without spaces and line ends at both ends.
    fileprivate var trimmedOfLines: Range<Int> {
        func isBlank(_ index: Int) -> Bool { [0x20, 0x09, 0x0a, 0x0d].contains(self[index]) }
        var (start, end) = (0, count)
        while start < end, isBlank(start) { start += 1 }
        while end > start, isBlank(end - 1) { end -= 1 }
        return start..<end
    }
}

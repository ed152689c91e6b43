// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

extension Login {
    /// The names that products give to the seed of one-time passwords.
    private static let seedNames: Set<String> = ["otp", "totp", "otpauth"]

    /// Returns the entry with its secrets where they belong, wherever the source has them: an `otpauth://` URI is the
    /// field `otp`, and a further one, or a private key, a field of its own name. As an attribute, every listing would
    /// show it. Programs' attributes stay as they are: their names and values are how programs find the item.
    func withSecretsInPlace() throws(ImportError) -> Login {
        guard !keepsAttributeNames else { return self }
        var login = self
        // The numbers of a format's own fields.
        var count = 0
        for index in login.fields.indices where login.fields[index].name == ItemNames.otp {
            count += 1
            login.fields[index].name = CXFNames.numbered(ItemNames.otp, count)
        }
        var hasSeed = count > 0
        if !hasSeed, let index = login.fields.firstIndex(where: { Login.isSeed($0.name, $0.secret) }) {
            login.fields[index].name = ItemNames.otp
            hasSeed = true
        }
        func move(_ name: String, _ value: String) throws(ImportError) -> Bool {
            let isSecret = Login.isSecret(value)
            guard isSecret || Login.seedNames.contains(name.lowercased()) else { return false }
            let secret = try Secret(plain: value)
            let isSeed = Login.isSeed(name, secret)
            guard isSeed || isSecret else { return false }
            login.addField(isSeed && !hasSeed ? ItemNames.otp : name, secret)
            if isSeed { hasSeed = true }
            return true
        }
        login.urls = []
        for url in urls {
            if try !move("otp.url", url) { login.urls.append(url) }
        }
        login.attributes = []
        for (name, value) in attributes {
            if try !move(name, value) { login.attributes.append((name, value)) }
        }
        guard Login.isSecret(notes) else { return login }
        login.notes = ""
        let seed = notes.split(whereSeparator: \.isNewline).lazy.map(Login.trimmed).first(where: Login.isURI)
        if !hasSeed, let seed { login.addField(ItemNames.otp, try Secret(plain: seed)) }
        if Login.trimmed(notes) != seed || hasSeed { login.addField(ItemNames.notes, try Secret(plain: notes)) }
        return login
    }

    /// Returns whether a text has a seed of one-time passwords, or a private key in PEM (RFC 7468).
    private static func isSecret(_ text: String) -> Bool {
        // Nearly all texts have neither: these are not split into lines.
        guard Login.contains(text, scheme) || Login.contains(text, armor) else { return false }
        if text.split(whereSeparator: \.isNewline).contains(where: { isURI(trimmed($0)) }) { return true }
        guard let begin = text.firstRange(of: "-----BEGIN ") else { return false }
        return text[begin.upperBound...].prefix(80).contains("PRIVATE KEY-----")
    }

    private static let scheme = Array("otpauth".utf8)
    private static let armor = Array("-----begin ".utf8)

    /// Returns whether a text contains lowercase ASCII, in any case.
    private static func contains(_ text: String, _ wanted: [UInt8]) -> Bool {
        let bytes = text.utf8.span
        guard bytes.count >= wanted.count else { return false }
        return (0...bytes.count - wanted.count).contains { start in
            bytes[start] | 0x20 == wanted[0] | 0x20
                && wanted.indices.allSatisfy { bytes[start + $0] | 0x20 == wanted[$0] | 0x20 }
        }
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0.isWhitespace }.reversed())
    }

    private static func isURI(_ text: String) -> Bool {
        guard let first = text.utf8.first, first | 0x20 == UInt8(ascii: "o") else { return false }
        let start = text.prefix(19).lowercased()
        return start.hasPrefix("otpauth://") || start.hasPrefix("otpauth-migration:")
    }

    private static func isSeed(_ name: String, _ secret: Secret) -> Bool {
        if secret.withBytes({ OneTimePassword.isURI($0) }) { return true }
        return seedNames.contains(name.lowercased()) && CXFTimeCode.isUsable(secret)
    }
}

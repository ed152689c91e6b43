// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// Lists of `otpauth://` URIs, one per line, and the URIs themselves.
package enum OTPAuth {
    private static let scheme = "otpauth://"

    package static func logins(_ document: Document) throws(ImportError) -> ImportedLogins {
        var imported = ImportedLogins()
        for line in document.lines where !line.text.isEmpty {
            if let uri = document.bytes.withBytes({ Places($0, line.text) }) {
                imported.logins.append(try login(document, line, uri))
                continue
            }
            let isMigration = document.starts(line.text, with: "otpauth-migration://")
            let flaw =
                isMigration
                ? "several keys in one of Google's own codes: export them as otpauth:// URIs"
                : "this is no otpauth:// URI"
            guard isMigration || !imported.logins.isEmpty || !imported.skipped.isEmpty else {
                throw .malformed(line.place, flaw)
            }
            imported.skip(line.place, flaw)
        }
        return imported
    }

    struct Places {
        /// `ISSUER:ACCOUNT`, percent-encoded.
        let label: Range<Int>
        let parameters: [(name: String, value: Range<Int>)]

        init?(_ bytes: Span<UInt8>, _ uri: Range<Int>) {
            guard bytes.starts(uri, with: scheme), let question = bytes.firstIndex(of: UInt8(ascii: "?"), in: uri),
                let slash = bytes.firstIndex(of: UInt8(ascii: "/"), in: uri.lowerBound + scheme.utf8.count..<question)
            else { return nil }
            label = slash + 1..<question
            let end = bytes.firstIndex(of: UInt8(ascii: "#"), in: question..<uri.upperBound) ?? uri.upperBound
            parameters = OTPAuth.parameters(bytes, question + 1..<end)
        }
    }

    /// Returns the names and values of `name=value&name=value`.
    private static func parameters(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [(name: String, value: Range<Int>)] {
        var parameters: [(name: String, value: Range<Int>)] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes.firstIndex(of: UInt8(ascii: "&"), in: start..<range.upperBound) ?? range.upperBound
            let split = bytes.firstIndex(of: UInt8(ascii: "="), in: start..<end) ?? end
            parameters.append((bytes.text(start..<split), min(split + 1, end)..<end))
            start = end + 1
        }
        return parameters
    }

    private static func login(_ document: Document, _ line: Document.Line, _ uri: Places) throws(ImportError) -> Login {
        let text = PercentCoding.repaired(document.text(uri.label))
        let colon = text.firstIndex(of: ":")
        let (prefix, account) =
            colon.map { (text[..<$0], text[text.index(after: $0)...].drop { $0 == " " }) } ?? ("", text[...])
        let value = uri.parameters.first { $0.name == "issuer" }?.value
        let issuer = value.map { PercentCoding.repaired(document.text($0).replacing("+", with: " ")) } ?? ""
        // Only a label without a prefix depends on the parameter for its issuer.
        let title = prefix.isEmpty ? issuer : String(prefix)
        var login = Login(id: "", place: line.place)
        (login.title, login.user) = title.isEmpty ? (String(account), "") : (title, String(account))
        login.id = [login.title, login.user].joined(separator: "/")
        if !issuer.isEmpty, !prefix.isEmpty, issuer != title { login.id += "/" + issuer }
        if login.title.isEmpty, login.user.isEmpty { login.id = "" }
        // Earlier versions took no notice of the parameter, and had an identifier for a URI without a name.
        let earlier = colon == nil ? text + "/" : "\(prefix)/\(account)"
        if earlier != login.id { login.earlierIDs = { [earlier] } }
        login.address = .service(login.title.isEmpty ? "otp" : login.title)
        login.addField(ItemNames.otp, try document.secret(line.text))
        return login
    }

    /// - Parameter parameters: those besides the key, which is in base32; empty values are omitted.
    static func uri(
        kind: String = "totp", issuer: String, account: String, key: Secret, _ parameters: [(String, String)] = []
    ) throws(ImportError) -> Secret {
        let label = PercentCoding.encoded(issuer) + (account.isEmpty ? "" : ":" + PercentCoding.encoded(account))
        let rest = parameters.filter { !$0.1.isEmpty }.map { "&\($0.0)=\(PercentCoding.encoded($0.1))" }.joined()
        let capacity = key.count + label.utf8.count + rest.utf8.count + 64
        return try Secret.assembled(capacity: capacity) { buffer throws(CryptoError) in
            try buffer.append("\(scheme)\(kind)/\(label)?secret=")
            try key.withBytes { bytes throws(CryptoError) in
                // Seeds are often written in groups, separated by spaces.
                for index in bytes.indices where bytes[index] != 0x20 { try buffer.append(bytes[index]) }
            }
            try buffer.append(rest)
        }
    }

    /// Parses `key=…&name=value`; `nil` for any other text.
    static func parameters(_ text: Secret) throws(ImportError) -> (key: Secret, others: [String: String])? {
        let all = text.withBytes { bytes in
            parameters(bytes, 0..<bytes.count).map { ($0.name, $0.value, $0.name == "key" ? "" : bytes.text($0.value)) }
        }
        guard let (name, key, _) = all.first, name == "key", !key.isEmpty else { return nil }
        return (try text.part(key), Dictionary(all.dropFirst().map { ($0.0, $0.2) }) { first, _ in first })
    }
}

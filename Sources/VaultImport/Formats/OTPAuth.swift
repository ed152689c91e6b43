// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// Lists of `otpauth://` URIs, one per line, and the URIs themselves.
package enum OTPAuth {
    private static let scheme = "otpauth://"

    package static func logins(_ document: Document) throws(ImportError) -> ImportedLogins {
        var imported = ImportedLogins()
        for (index, line) in document.lines.enumerated() {
            let place = "line \(index + 1)"
            let line = document.bytes.withBytes { $0.trimmed(line) }
            guard !line.isEmpty else { continue }
            guard let split = label(document, line) else {
                let isMigration = document.bytes.withBytes { $0.starts(line, with: "otpauth-migration://") }
                guard isMigration || !imported.logins.isEmpty || !imported.skipped.isEmpty else {
                    throw .malformed(place, "this is no otpauth:// URI")
                }
                imported.skip(
                    place,
                    isMigration
                        ? "several keys in one of Google's own codes: export them as otpauth:// URIs"
                        : "this is no otpauth:// URI")
                continue
            }
            let login = try login(document, line, label: split, place)
            imported.logins.append(login)
        }
        return imported
    }

    /// Returns the range of the label of a URI, between its type and its parameters; `nil` if the line is not such a
    /// URI.
    private static func label(_ document: Document, _ line: Range<Int>) -> Range<Int>? {
        document.bytes.withBytes { bytes in
            guard bytes.starts(line, with: scheme), let question = bytes.firstIndex(of: UInt8(ascii: "?"), in: line),
                let slash = bytes.firstIndex(
                    of: UInt8(ascii: "/"), in: line.lowerBound + scheme.utf8.count..<question)
            else { return nil }
            return slash + 1..<question
        }
    }

    /// - Parameters:
    ///   - line: the URI.
    ///   - label: `ISSUER:ACCOUNT`, percent-encoded.
    private static func login(
        _ document: Document, _ line: Range<Int>, label: Range<Int>, _ place: String
    ) throws(ImportError) -> Login {
        let text = PercentCoding.repaired(document.text(label))
        let colon = text.firstIndex(of: ":")
        let (prefix, account) =
            colon.map { (text[..<$0], text[text.index(after: $0)...].drop { $0 == " " }) } ?? ("", text[...])
        let issuer = issuer(document, label.upperBound..<line.upperBound)
        // Only a label without a prefix depends on the parameter for its issuer.
        let title = prefix.isEmpty ? issuer ?? "" : String(prefix)
        var login = Login(id: "", place: place)
        (login.title, login.user) = title.isEmpty ? (String(account), "") : (title, String(account))
        login.id = [login.title, login.user].joined(separator: "/")
        if let issuer, !prefix.isEmpty, issuer != title { login.id += "/" + issuer }
        if login.title.isEmpty, login.user.isEmpty { login.id = "" }
        // Earlier versions took no notice of the parameter, and had an identifier for a URI without a name.
        let earlier = colon == nil ? text + "/" : "\(prefix)/\(account)"
        if earlier != login.id { login.earlierIDs = { [earlier] } }
        login.address = .service(login.title.isEmpty ? "otp" : login.title)
        login.addField(ItemNames.otp, try document.secret(line))
        return login
    }

    /// Returns the parameter `issuer` of a URI; `nil` if it is missing or empty.
    private static func issuer(_ document: Document, _ parameters: Range<Int>) -> String? {
        let value = document.bytes.withBytes { bytes -> Range<Int>? in
            let end = bytes.firstIndex(of: UInt8(ascii: "#"), in: parameters) ?? parameters.upperBound
            var start = parameters.lowerBound
            while start < end {
                // Behind the question mark, or an ampersand.
                let next = bytes.firstIndex(of: UInt8(ascii: "&"), in: start + 1..<end) ?? end
                if bytes.starts(start + 1..<next, with: "issuer=") { return start + 8..<next }
                start = next
            }
            return nil
        }
        let text = value.map { PercentCoding.repaired(document.text($0).replacing("+", with: " ")) } ?? ""
        return text.isEmpty ? nil : text
    }

    /// Makes a URI of its parts.
    ///
    /// - Parameters:
    ///   - key: the seed, in base32.
    ///   - parameters: the parameters other than the seed; empty values are omitted.
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
    static func parameters(_ text: Secret) -> (key: Secret, others: [String: String])? {
        let (key, rest) =
            text.withBytes { bytes -> (Range<Int>, String)? in
                guard bytes.starts(0..<bytes.count, with: "key=") else { return nil }
                let end = bytes.firstIndex(of: UInt8(ascii: "&"), in: 4..<bytes.count) ?? bytes.count
                return (4..<end, String(decoding: bytes.array(min(end + 1, bytes.count)..<bytes.count), as: UTF8.self))
            } ?? (0..<0, "")
        guard !key.isEmpty, let bytes = try? text.bytes.copy(of: key) else { return nil }
        let others = rest.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return (Secret(bytes), Dictionary(others.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { first, _ in first })
    }
}

extension Span<UInt8> {
    func starts(_ range: Range<Int>, with text: String) -> Bool {
        let bytes = Array(text.utf8)
        return range.count >= bytes.count && zip(range.lowerBound..., bytes).allSatisfy { self[$0] == $1 }
    }
}

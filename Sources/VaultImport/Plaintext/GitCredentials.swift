// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// `~/.git-credentials`: one URL per line, with user and password, percent-encoded (git-credential-store).
enum GitCredentials {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        for line in document.lines where !document.isIdle(line, indented: false) {
            guard let (login, hasQuery) = try login(document, line) else {
                found.stays(line.place, "what is no URL with a user")
                continue
            }
            if hasQuery {
                found.stays(line.place, "a URL with a query, which git does not look for,")
            } else {
                found.append(login, [line.whole])
            }
        }
        return found
    }

    /// Reads a line as git does: host, path and user are percent-encoded.
    ///
    /// - Returns: `nil` for a line without a user, and for one whose host git and other programs do not agree on: one
    ///   with two `@`, with a backslash behind the host, or with a delimiter among the encoded characters of the host.
    private static func login(
        _ document: Document, _ line: Document.Line
    ) throws(ImportError) -> (login: Login, hasQuery: Bool)? {
        let found = document.bytes.withBytes { bytes -> (URLParts, split: Int?)? in
            let text = bytes.extracting(line.range)
            guard let parts = URLParts(text), let user = parts.user,
                !user.contains(where: { text[$0] == UInt8(ascii: "@") }),
                parts.path.isEmpty || text[parts.path.lowerBound] == UInt8(ascii: "/")
            else { return nil }
            return (parts, user.first { text[$0] == UInt8(ascii: ":") })
        }
        guard let (parts, split) = found, let scheme = parts.scheme, let whole = parts.user else { return nil }
        let start = line.range.lowerBound
        func moved(_ range: Range<Int>) -> Range<Int> { start + range.lowerBound..<start + range.upperBound }
        func decoded(_ range: Range<Int>) -> String { PercentCoding.repaired(document.text(moved(range))) }
        let (server, path) = (decoded(parts.server), document.text(moved(parts.path)))
        let bytes = server.utf8.span
        guard let place = URLServer(bytes, 0..<bytes.count), let address = WebAddress("\(scheme)://\(server)\(path)")
        else { return nil }
        let user = decoded(whole.lowerBound..<(split ?? whole.upperBound))
        var login = Login(id: "\(address.text) \(user)", place: line.place)
        (login.user, login.title) = (user, address.host)
        var attributes = address.attributes
        // Only ASCII has a lower case, as in requests of git, which has paths decoded, without their first slash.
        attributes[.server] = .string(bytes.text(place.host).foldedASCII)
        let hasPath = parts.path.count > 1
        attributes[.path] = hasPath ? .string(decoded(parts.path.lowerBound + 1..<parts.path.upperBound)) : nil
        login.address = .internet(attributes)
        if let split { login.password = try percentDecoded(document, moved(split + 1..<whole.upperBound)) }
        return (login, parts.query != nil || parts.fragment != nil)
    }

    private static func percentDecoded(_ document: Document, _ range: Range<Int>) throws(ImportError) -> Secret {
        try Secret.assembled(capacity: range.count) { buffer throws(CryptoError) in
            try document.bytes.withBytes { bytes throws(CryptoError) in
                _ = try PercentCoding.decode(bytes.extracting(range)) { byte throws(CryptoError) in
                    try buffer.append(byte)
                }
            }
        }
    }
}

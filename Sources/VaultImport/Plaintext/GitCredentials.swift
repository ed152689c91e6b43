// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// `~/.git-credentials`: one URL per line, with user and password, percent-encoded (git-credential-store).
enum GitCredentials {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        for (index, (line, whole)) in zip(document.lines, document.wholeLines).enumerated() {
            let isComment = document.bytes.withBytes { bytes in
                bytes.trimmed(line).isEmpty || bytes[line.lowerBound] == UInt8(ascii: "#")
            }
            guard !isComment else { continue }
            let place = "line \(index + 1)"
            guard let url = GitURL(document, line) else {
                found.stays(place, "what is no URL with a user")
                continue
            }
            guard !url.hasQuery else {
                found.stays(place, "a URL with a query, which git does not look for,")
                continue
            }
            var login = Login(id: "\(url.address.text) \(url.user)", place: place)
            login.user = url.user
            login.title = url.address.host
            var attributes = url.address.attributes
            attributes[.server] = .string(url.host)
            attributes[.path] = url.path.map(AttributeValue.string)
            login.address = .internet(attributes)
            if let password = url.password { login.password = try percentDecoded(document, password) }
            found.append(login, [whole])
        }
        return found
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

/// A line as git reads it: host, path and user are percent-encoded.
private struct GitURL {
    let address: WebAddress
    /// The host, of which only ASCII has a lower case, as in requests of git.
    let host: String
    let user: String
    let password: Range<Int>?
    /// The path as git passes it to helpers: decoded, and without its leading slash; `nil` if empty.
    let path: String?
    let hasQuery: Bool

    /// Fails for a line without a user, and for one whose host git and other programs do not agree on: one with two
    /// `@`, with a backslash behind the host, or with a delimiter among the encoded characters of the host.
    init?(_ document: Document, _ line: Range<Int>) {
        let found = document.bytes.withBytes { bytes -> (URLParts, split: Int?)? in
            let text = bytes.extracting(line)
            guard let parts = URLParts(text), let user = parts.user,
                !user.contains(where: { text[$0] == UInt8(ascii: "@") }),
                parts.path.isEmpty || text[parts.path.lowerBound] == UInt8(ascii: "/")
            else { return nil }
            return (parts, user.first { text[$0] == UInt8(ascii: ":") })
        }
        guard let (parts, split) = found, let scheme = parts.scheme, let whole = parts.user else { return nil }
        func moved(_ range: Range<Int>) -> Range<Int> {
            line.lowerBound + range.lowerBound..<line.lowerBound + range.upperBound
        }
        func decoded(_ range: Range<Int>) -> String { PercentCoding.repaired(document.text(moved(range))) }
        let (server, encodedPath) = (decoded(parts.server), document.text(moved(parts.path)))
        let bytes = server.utf8.span
        guard let place = URLServer(bytes, 0..<bytes.count),
            let address = WebAddress("\(scheme)://\(server)\(encodedPath)")
        else { return nil }
        self.address = address
        host = bytes.text(place.host).foldedASCII
        user = decoded(whole.lowerBound..<(split ?? whole.upperBound))
        password = split.map { moved($0 + 1..<whole.upperBound) }
        path = parts.path.count < 2 ? nil : decoded(parts.path.lowerBound + 1..<parts.path.upperBound)
        hasQuery = parts.query != nil || parts.fragment != nil
    }
}

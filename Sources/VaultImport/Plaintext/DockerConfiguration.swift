// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// `~/.docker/config.json`: `auths`, with user and password in base64. The items have the format of docker's own helper
/// for the Secret Service, so that it finds them.
enum DockerConfiguration {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        let root = try JSONValue(ofExport: document)
        guard root.isObject else { throw .otherFormat("this is no configuration of docker's", hint: nil) }
        var found = Plaintext.Found()
        for (index, (server, value)) in (root["auths"]?.members ?? []).enumerated() {
            let place = "entry \(index + 1)"
            var login = Login(id: server, place: place)
            let auth = value["auth"]?.stringRange.flatMap { $0.isEmpty ? nil : $0 }
            if let token = value["identitytoken"], let range = token.stringRange, !range.isEmpty {
                // The user name that docker's helpers give to a token.
                login.user = "<token>"
                login.password = try token.secret()
                guard let auth else {
                    found.append(finished(login, server), [range])
                    continue
                }
                // Only what the item contains is removed from the file: docker itself leaves no password beside a
                // token.
                let beside = try read(document, auth)
                if beside == nil { found.imported.skip(place, "what stands beside its token is no user and password") }
                if let beside, !beside.password.isEmpty { login.addField("auth", beside.whole) }
                found.append(finished(login, server), beside == nil ? [range] : [range, auth])
            } else if let auth {
                guard let read = try read(document, auth) else {
                    throw .malformed(place, "this is no user and password in base64")
                }
                guard !read.password.isEmpty else {
                    found.imported.skip(place, "it has no password")
                    continue
                }
                (login.user, login.password) = (read.user, read.password)
                found.append(finished(login, server), [auth])
            } else if !value.members.isEmpty {
                found.imported.skip(place, "it has no password")
            }
        }
        return found
    }

    /// Reads user and password; `nil` if the text is not both in base64.
    private static func read(
        _ document: Document, _ range: Range<Int>
    ) throws(ImportError) -> (user: String, password: Secret, whole: Secret)? {
        let decoded = try document.bytes.withBytes { bytes throws(ImportError) in
            try Secret.decoding(base64: bytes.extracting(range))
        }
        let split = decoded?.withBytes { $0.firstIndex(of: UInt8(ascii: ":"), in: 0..<$0.count) } ?? nil
        guard let decoded, let split else { return nil }
        let user = decoded.withBytes { String(decoding: $0.array(0..<split), as: UTF8.self) }
        let password = try secured { () throws(CryptoError) in
            Secret(try decoded.bytes.copy(of: split + 1..<decoded.count))
        }
        return (user, password, decoded)
    }

    private static func finished(_ login: Login, _ server: String) -> Login {
        var login = login
        login.title = server
        login.address = .service(server)
        login.keepsAttributeNames = true
        login.attributes = [
            ("xdg:schema", "io.docker.Credentials"), ("label", "Docker Credentials"), ("server", server),
            ("username", login.user), ("docker_cli", "1"),
        ]
        return login
    }
}

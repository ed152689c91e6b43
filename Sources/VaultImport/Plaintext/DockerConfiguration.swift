// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// `~/.docker/config.json`: `auths`, with user and password in base64. The items are those of docker's own helper for
/// the Secret Service, so that it finds them.
enum DockerConfiguration {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        let root = try JSONValue(document)
        guard root.isObject else { throw .otherFormat("this is no configuration of docker's", hint: nil) }
        var found = Plaintext.Found()
        for (index, (server, value)) in (root["auths"]?.members ?? []).enumerated() {
            let place = "entry \(index + 1)"
            var login = Login(id: server, place: place)
            let auth = value["auth"]?.stringRange.flatMap { $0.isEmpty ? nil : $0 }
            if let token = value["identitytoken"], let range = token.stringRange, !range.isEmpty {
                // As docker's helpers name the user of a token; what stands beside it has no password then.
                login.user = "<token>"
                login.password = try token.secret()
                found.append(finished(login, server), [range, auth].compactMap { $0 })
            } else if let auth {
                try read(document, auth, place, &login)
                guard login.password?.isEmpty == false else {
                    found.imported.skip(place, "it has no password")
                    continue
                }
                found.append(finished(login, server), [auth])
            } else if !value.members.isEmpty {
                found.imported.skip(place, "it has no password")
            }
        }
        return found
    }

    private static func read(
        _ document: Document, _ range: Range<Int>, _ place: String, _ login: inout Login
    ) throws(ImportError) {
        let decoded = try document.bytes.withBytes { bytes throws(ImportError) in
            try Secret.decoding(base64: bytes.extracting(range))
        }
        let split = decoded?.withBytes { $0.firstIndex(of: UInt8(ascii: ":"), in: 0..<$0.count) } ?? nil
        guard let decoded, let split else { throw .malformed(place, "this is no user and password in base64") }
        login.user = decoded.withBytes { String(decoding: $0.array(0..<split), as: UTF8.self) }
        login.password = try secured { () throws(CryptoError) in
            Secret(try decoded.bytes.copy(of: split + 1..<decoded.count))
        }
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

// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// `~/.docker/config.json`: `auths`, with user and password in base64, or in clear. The items have the format of
/// docker's own helper for the Secret Service, so that it finds them.
enum DockerConfiguration {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        let root = try JSONValue(ofExport: document)
        guard root.isObject else { throw .otherFormat("this is no configuration of docker's", hint: nil) }
        var found = Plaintext.Found()
        for (index, (server, value)) in (root["auths"]?.members ?? []).enumerated() {
            try read(value, of: server, document, "entry \(index + 1)", &found)
        }
        // Docker's helpers keep none of these.
        for (name, value) in root["HttpHeaders"]?.members ?? [] where value.isString {
            found.stays("HttpHeaders", "'\(name)'")
        }
        for (_, proxy) in root["proxies"]?.members ?? [] {
            for (name, value) in proxy.members where value.text?.utf8.contains(UInt8(ascii: "@")) == true {
                found.stays("proxies", "the user of '\(name)'")
            }
        }
        return found
    }

    /// The members of a login that are no secrets.
    private static let open: Set<String> = ["username", "email", "serveraddress"]

    /// Reads a login. A token stands before a user and a password in base64, and these before those in clear, as docker
    /// has it; every secret of the login goes into its item, or stays and is named.
    private static func read(
        _ value: JSONValue, of server: String, _ document: Document, _ place: String, _ found: inout Plaintext.Found
    ) throws(ImportError) {
        func range(_ name: String) -> Range<Int>? { value[name]?.stringRange.flatMap { $0.isEmpty ? nil : $0 } }
        var login = Login(id: server, place: place)
        var ranges: [Range<Int>] = []
        if let token = range("identitytoken") {
            // The user name that docker's helpers give to a token.
            login.user = "<token>"
            login.password = try value["identitytoken"]?.secret()
            ranges.append(token)
        }
        if let auth = range("auth") {
            if let (user, password, whole) = try decoded(document, auth) {
                if password.isEmpty {
                    // Docker itself writes one beside a token.
                    if login.password != nil { ranges.append(auth) }
                } else {
                    ranges.append(auth)
                    if login.password == nil {
                        (login.user, login.password) = (user, password)
                    } else {
                        login.addField("auth", whole)
                    }
                }
            } else {
                found.stays(place, "'auth', which is no user and password in base64,")
            }
        }
        if let range = range("password"), let password = try value["password"]?.secret() {
            ranges.append(range)
            if login.password == nil {
                (login.user, login.password) = (value["username"]?.text ?? "", password)
            } else if login.password?.isEqual(to: password) != true {
                login.addField("password", password)
            }
        }
        let known = ["auth", "identitytoken", "password"]
        for (name, value) in value.members where !known.contains(name) && !open.contains(name) {
            let isEmpty = value.stringRange?.isEmpty ?? !value.isObject && !value.isArray
            if !isEmpty { found.stays(place, "'\(name)', which docker's helpers do not keep,") }
        }
        guard login.password != nil else {
            if !value.members.isEmpty, found.imported.skipped.last?.place != place {
                found.imported.skip(place, "it has no password")
            }
            return
        }
        login.title = server
        login.address = .service(server)
        login.keepsAttributeNames = true
        login.attributes = [
            ("xdg:schema", "io.docker.Credentials"), ("label", "Docker Credentials"), ("server", server),
            ("username", login.user), ("docker_cli", "1"),
        ]
        found.append(login, ranges)
    }

    private static func decoded(
        _ document: Document, _ range: Range<Int>
    ) throws(ImportError) -> (user: String, password: Secret, whole: Secret)? {
        let decoded = try document.bytes.withBytes { bytes throws(ImportError) in
            try Secret.decoding(base64: bytes.extracting(range))
        }
        let split = decoded?.withBytes { $0.firstIndex(of: UInt8(ascii: ":"), in: 0..<$0.count) } ?? nil
        guard let decoded, let split else { return nil }
        let user = decoded.withBytes { String(decoding: $0.array(0..<split), as: UTF8.self) }
        let password = try decoded.part(split + 1..<decoded.count)
        return (user, password, decoded)
    }
}

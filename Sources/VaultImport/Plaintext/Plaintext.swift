// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A file in which another program keeps credentials in clear text.
package struct Plaintext: Sendable {
    package let name: String
    /// The usual path below the home directory.
    package let usualPath: String
    private let variablePath: @Sendable (_ variable: (String) -> String?) -> String?
    private let read: @Sendable (Document) throws(ImportError) -> Found

    /// - Parameter path: returns the path that variables of the program give.
    private init(
        _ name: String, _ usualPath: String, _ read: @escaping @Sendable (Document) throws(ImportError) -> Found,
        path: @escaping @Sendable (_ variable: (String) -> String?) -> String? = { _ in nil }
    ) {
        (self.name, self.usualPath, self.read, variablePath) = (name, usualPath, read, path)
    }

    package static let gitCredentials = Plaintext("git-credentials", ".git-credentials", GitCredentials.logins)
    package static let netrc = Plaintext("netrc", ".netrc", Netrc.logins) { $0("NETRC") }
    package static let docker = Plaintext("docker", ".docker/config.json", DockerConfiguration.logins) {
        $0("DOCKER_CONFIG").map { $0 + "/config.json" }
    }
    package static let gh = Plaintext("gh", ".config/gh/hosts.yml", GitHubHosts.logins) {
        ($0("GH_CONFIG_DIR") ?? $0("XDG_CONFIG_HOME").map { $0 + "/gh" }).map { $0 + "/hosts.yml" }
    }
    package static let cargo = Plaintext("cargo", ".cargo/credentials.toml", CargoCredentials.logins) {
        $0("CARGO_HOME").map { $0 + "/credentials.toml" }
    }
    package static let aws = Plaintext("aws", ".aws/credentials", AWSCredentials.logins) {
        $0("AWS_SHARED_CREDENTIALS_FILE")
    }
    package static let pgpass = Plaintext("pgpass", ".pgpass", PostgresPasswords.logins) { $0("PGPASSFILE") }

    package static let all = [gitCredentials, netrc, docker, gh, cargo, aws, pgpass]

    /// Returns the format of a file with a usual name; that of docker's, `config.json`, tells nothing.
    package static func usual(_ name: String, in directory: String) -> Plaintext? {
        if name == "_netrc" { return netrc }
        return all.first { format in
            let parts = format.usualPath.split(separator: "/")
            return parts.last.map(String.init) == name && (parts.count == 1 || parts[parts.count - 2] == directory)
                && format.name != "docker"
        }
    }

    /// Returns the path of the file; a variable of the program overrides the default.
    package func path(home: String, variable: (String) -> String?) -> String {
        variablePath(variable) ?? "\(home)/\(usualPath)"
    }

    package func logins(_ document: Document) throws(ImportError) -> Found { try read(document) }

    package struct Found {
        package var imported = ImportedLogins()
        /// For each login, the ranges of the file to remove with it.
        package var ranges: [[Range<Int>]] = []

        mutating func append(_ login: Login, _ ranges: [Range<Int>]) {
            imported.logins.append(login)
            self.ranges.append(ranges)
        }

        mutating func stays(_ place: String, _ what: String) {
            imported.skip(place, "\(what) is not imported, and stays in the file")
        }
    }

    /// Whether the name of a setting is that of a secret, by the words that programs use.
    static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return ["password", "passwd", "passphrase", "secret", "token", "private", "apikey", "api_key", "auth"]
            .contains { name.contains($0) }
    }

    /// Returns the file without the given ranges; `nil` if only blanks are left. A comment may have a secret, too, and
    /// stays.
    package static func removing(_ ranges: [Range<Int>], from document: Document) throws(ImportError) -> Secret? {
        let cut = ranges.sorted { $0.lowerBound < $1.lowerBound }
        let rest = try Secret.assembled(capacity: document.count) { buffer throws(CryptoError) in
            try document.bytes.withBytes { bytes throws(CryptoError) in
                var start = 0
                for range in cut {
                    if range.lowerBound > start { try buffer.append(bytes.extracting(start..<range.lowerBound)) }
                    start = max(start, range.upperBound)
                }
                if start < bytes.count { try buffer.append(bytes.extracting(start..<bytes.count)) }
            }
        }
        let isBlank = rest.withBytes { bytes in bytes.indices.allSatisfy { bytes[$0].isBlank } }
        return isBlank ? nil : rest
    }

    /// Returns the logins of which the rest of a file still has a secret, such as a copy in a comment, each with a
    /// line. Secrets of less than 6 bytes may be parts of words, and are not looked for.
    package static func left(of logins: [Login], in rest: Secret) throws(ImportError) -> [(login: Int, line: Int)] {
        let length = 6
        var secrets: [UInt64: [(login: Int, secret: Secret)]] = [:]
        func start(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
            (offset..<offset + length).reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
        }
        for (number, login) in logins.enumerated() {
            for secret in [login.password].compactMap({ $0 }) + login.fields.map(\.secret) where secret.count >= length
            {
                secrets[secret.withBytes { start($0, 0) }, default: []].append((number, secret))
            }
        }
        var found: [Int: Int] = [:]
        rest.withBytes { bytes in
            for offset in 0..<max(0, bytes.count - length + 1) {
                for (login, secret) in secrets[start(bytes, offset)] ?? [] where found[login] == nil {
                    let end = offset + secret.count
                    guard end <= bytes.count else { continue }
                    if secret.withBytes({ $0.elementsEqual(bytes.extracting(offset..<end)) }) { found[login] = offset }
                }
            }
        }
        let document = try Document(rest)
        return found.sorted { $0.key < $1.key }.map { (login: $0.key, line: document.line(at: $0.value)) }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A file in which another program keeps credentials in clear text.
package enum Plaintext: String, CaseIterable, Sendable {
    case gitCredentials = "git-credentials"
    case netrc, docker, gh, cargo, aws, pgpass

    /// The logins of a file, and their ranges in it.
    package struct Found {
        package var imported = ImportedLogins()
        /// For each login, the ranges of the file to remove with it.
        package var ranges: [[Range<Int>]] = []

        mutating func append(_ login: Login, _ ranges: [Range<Int>]) {
            imported.logins.append(login)
            self.ranges.append(ranges)
        }

        /// Reports a secret that is not imported, and therefore stays in the file.
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

    /// Returns the path of the file; a variable of the program overrides the default.
    ///
    /// - Parameter variable: returns the value of an environment variable.
    package func path(home: String, variable: (String) -> String?) -> String {
        switch self {
        case .gitCredentials: home + "/.git-credentials"
        case .netrc: variable("NETRC") ?? home + "/.netrc"
        case .docker: (variable("DOCKER_CONFIG") ?? home + "/.docker") + "/config.json"
        case .gh:
            (variable("GH_CONFIG_DIR") ?? (variable("XDG_CONFIG_HOME") ?? home + "/.config") + "/gh") + "/hosts.yml"
        case .cargo: (variable("CARGO_HOME") ?? home + "/.cargo") + "/credentials.toml"
        case .aws: variable("AWS_SHARED_CREDENTIALS_FILE") ?? home + "/.aws/credentials"
        case .pgpass: variable("PGPASSFILE") ?? home + "/.pgpass"
        }
    }

    package func logins(_ document: Document) throws(ImportError) -> Found {
        switch self {
        case .gitCredentials: try GitCredentials.logins(document)
        case .netrc: try Netrc.logins(document)
        case .docker: try DockerConfiguration.logins(document)
        case .gh: try GitHubHosts.logins(document)
        case .cargo: try CargoCredentials.logins(document)
        case .aws: try AWSCredentials.logins(document)
        case .pgpass: try PostgresPasswords.logins(document)
        }
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
        let isBlank = rest.withBytes { bytes in
            bytes.indices.allSatisfy { [0x20, 0x09, 0x0a, 0x0d].contains(bytes[$0]) }
        }
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

extension Document {
    /// The lines, including their ends.
    var wholeLines: [Range<Int>] {
        let lines = lines
        return lines.indices.map { index in
            lines[index].lowerBound..<(index + 1 < lines.count ? lines[index + 1].lowerBound : count)
        }
    }
}

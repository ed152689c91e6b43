// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

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

    /// Returns the file without the given ranges; `nil` if only blanks and comments are left.
    package static func removing(_ ranges: [Range<Int>], from document: Document) throws(ImportError) -> Secret? {
        let cut = ranges.sorted { $0.lowerBound < $1.lowerBound }
        let rest = try secured { () throws(CryptoError) in
            var buffer = try SecretBuffer(capacity: document.count)
            try document.bytes.withBytes { bytes throws(CryptoError) in
                var start = 0
                for range in cut {
                    if range.lowerBound > start { try buffer.append(bytes.extracting(start..<range.lowerBound)) }
                    start = max(start, range.upperBound)
                }
                if start < bytes.count { try buffer.append(bytes.extracting(start..<bytes.count)) }
            }
            return Secret(try buffer.take())
        }
        let left = try Document(rest)
        let isBlank = left.lines.allSatisfy { line in
            let text = left.bytes.withBytes { $0.trimmed(line) }
            return text.isEmpty || left.bytes.withBytes { $0[text.lowerBound] == UInt8(ascii: "#") }
        }
        return isBlank ? nil : rest
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

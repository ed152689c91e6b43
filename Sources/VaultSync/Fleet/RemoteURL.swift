// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
internal import VaultFormat

/// The URL of a remote:
///
/// - `file:///dir`, a folder that devices share;
/// - `ssh://[user@]host[:port]/dir`, a folder of a server;
/// - `postgres://user@host[:port]/database`, or with a socket `postgres://user@%2Frun%2Fpostgresql/database`;
/// - `etcd://[user@]host[:port]`.
///
/// The last two accept several hosts of one service, separated by commas. No URL contains a password.
package struct RemoteURL: Hashable, Sendable {
    package enum Scheme: String, CaseIterable, Sendable {
        case file, ssh, postgres, etcd

        /// The default port; `nil` if there is none or another configuration determines it.
        package var usualPort: UInt16? {
            switch self {
            case .file, .ssh: nil
            case .postgres: 5432
            case .etcd: 2379
            }
        }
    }

    /// A machine, or for PostgreSQL the directory of a socket.
    package struct Host: Hashable, Sendable {
        /// The name in lower case; an IPv6 address without brackets, with its zone, if any, as `%zone`; the absolute
        /// path of a socket's directory.
        package let name: String
        package let port: UInt16?

        package init(_ name: String, port: UInt16? = nil) { (self.name, self.port) = (name, port) }

        /// Whether the host is the directory of a socket.
        package var isSocket: Bool { name.hasPrefix("/") }

        /// Whether the traffic to the host stays on this machine.
        package var isLoopback: Bool {
            if name == "localhost" || name == "::1" { return true }
            // Only some C libraries accept 127.1 as an address; 127.0.0.1.example.org is a name.
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        }
    }

    package let scheme: Scheme
    package let user: String?
    /// The hosts: none for a folder, one for ssh.
    package let hosts: [Host]
    /// The absolute path of a folder; the database of PostgreSQL; empty for etcd.
    package let path: String

    package init(folder: FilePath) {
        (scheme, user, hosts, path) = (.file, nil, [], folder.lexicallyNormalized().string)
    }

    /// The absolute path of a `file` or `ssh` URL.
    package var folder: FilePath { FilePath(path) }

    /// - Throws: `.url`, with the expected form.
    package init(_ text: String) throws(SyncError) {
        guard let colon = text.firstRange(of: "://"), let scheme = Self.scheme(text[..<colon.lowerBound]) else {
            throw Self.invalid(
                """
                a remote is file:///absolute/path, ssh://host/absolute/path, postgres://user@host/database or \
                etcd://host
                """)
        }
        let rest = text[colon.upperBound...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let (authority, encodedPath) = (rest[..<slash], rest[slash...])
        let (user, hosts) = try Self.authority(authority, scheme)
        guard let path = PercentCoding.decoded(encodedPath), !path.utf8.contains(0) else {
            throw Self.invalid("the path of a remote has an incomplete % or a byte that no path has")
        }
        (self.scheme, self.user, self.hosts) = (scheme, user, hosts)
        self.path = try Self.path(path, scheme, encodedPath)
    }

    private static func scheme(_ text: Substring) -> Scheme? {
        let name = text.lowercased()
        return Scheme(rawValue: name == "postgresql" ? "postgres" : name)
    }

    private static func path(
        _ path: String, _ scheme: Scheme, _ encoded: Substring
    ) throws(SyncError) -> String {
        // A query of libpq can contain a password.
        if scheme != .file, encoded.contains("?") || encoded.contains("#") {
            throw invalid("a remote has no query: what it needs goes into options of 'vault remote add'")
        }
        switch scheme {
        case .file, .ssh:
            guard path.hasPrefix("/") else {
                throw invalid("the path of a folder begins at the root: \(scheme.rawValue)://…/absolute/path")
            }
            // A shell of the server parses the path.
            guard scheme == .file || isPlainText(path) else {
                throw invalid("the path of a folder of a server has no control characters")
            }
            return FilePath(path).lexicallyNormalized().string
        case .postgres:
            let name = String(path.dropFirst())
            guard !name.isEmpty, !name.contains("/"), isPlainText(name) else {
                throw invalid("PostgreSQL's database is named: postgres://user@host/database")
            }
            return name
        case .etcd:
            guard path.isEmpty || path == "/" else { throw invalid("etcd has no path: etcd://host:2379") }
            return ""
        }
    }

    // MARK: Users and hosts

    private static func authority(
        _ text: Substring, _ scheme: Scheme
    ) throws(SyncError) -> (user: String?, hosts: [Host]) {
        var (encodedUser, names) = (Substring?.none, text)
        if let at = text.lastIndex(of: "@") {
            (encodedUser, names) = (text[..<at], text[text.index(after: at)...])
        }
        if scheme == .file {
            guard encodedUser == nil else {
                throw invalid("a folder has no user and no password: file:///absolute/path")
            }
            guard names.isEmpty || names.lowercased() == "localhost" else {
                throw invalid("the path of a folder begins at the root: file:///absolute/path")
            }
            return (nil, [])
        }
        let user = try encodedUser.map { encoded throws(SyncError) in try Self.user(encoded, scheme) }
        var hosts: [Host] = []
        for name in names.split(separator: ",", omittingEmptySubsequences: false) {
            hosts.append(try host(name, scheme))
        }
        guard hosts.count == 1 || scheme != .ssh else { throw invalid("a server by ssh is one host") }
        return (user, hosts)
    }

    private static func user(_ encoded: Substring, _ scheme: Scheme) throws(SyncError) -> String {
        guard let user = PercentCoding.decoded(encoded), !user.contains(":") else {
            throw invalid("a URL is stored, told and shown, and so holds no password: use --password-file")
        }
        // ssh parses a name that begins with "-" as an option.
        let isName = scheme == .ssh ? isHostName(user) : isPlainText(user)
        guard isName, user.utf8.count <= 255 else { throw invalid("the user of a remote has no such name") }
        return user
    }

    private static func host(_ text: Substring, _ scheme: Scheme) throws(SyncError) -> Host {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let address = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard address.contains(":"), address.utf8.allSatisfy({ isLetterOrDigit($0) || ":.%".utf8.contains($0) }),
                rest.isEmpty || rest.hasPrefix(":")
            else { throw invalid("a host has no such address") }
            // The percent sign of a zone is itself encoded (RFC 6874). The names of interfaces keep their case.
            let parts = address.replacing("%25", with: "%").split(separator: "%", omittingEmptySubsequences: false)
            guard parts.count == 1 || parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty else {
                throw invalid("a host has no such address")
            }
            let name = ([parts[0].lowercased()] + parts.dropFirst().map(String.init)).joined(separator: "%")
            return Host(name, port: try port(rest.isEmpty ? nil : rest.dropFirst(), scheme))
        }
        let colon = text.firstIndex(of: ":")
        let port = try port(colon.map { text[text.index(after: $0)...] }, scheme)
        guard let name = PercentCoding.decoded(text[..<(colon ?? text.endIndex)]) else {
            throw invalid("a host has no such name")
        }
        if scheme == .postgres, name.hasPrefix("/"), isPlainText(name), !name.contains(",") {
            return Host(name, port: port)
        }
        guard isHostName(name) else { throw invalid("a host has no such name") }
        return Host(name.lowercased(), port: port)
    }

    /// Returns `nil` for the default port. An explicit port of ssh stays, since the user's configuration sets the
    /// default.
    private static func port(_ digits: Substring?, _ scheme: Scheme) throws(SyncError) -> UInt16? {
        guard let digits else { return nil }
        guard digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let port = UInt16(digits),
            port > 0
        else { throw invalid("a port is a number from 1 to 65535") }
        return port == scheme.usualPort ? nil : port
    }

    /// Whether a text consists of letters, digits, `.`, `_` and `-`, and does not begin with `-`, so that no program
    /// parses it as an option or as several shell words.
    private static func isHostName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255 && !text.hasPrefix("-")
            && text.utf8.allSatisfy { isLetterOrDigit($0) || "._-".utf8.contains($0) }
    }

    private static func isPlainText(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    private static func invalid(_ what: String) -> SyncError { .url(what) }

    // MARK: Text

    /// The URL with percent encoding (RFC 3986).
    package var text: String {
        let before = scheme.rawValue + "://" + (user.map { PercentCoding.encoded($0) + "@" } ?? "")
        let names = hosts.map { host in
            let isAddress = host.name.contains(":") && !host.isSocket
            let name = PercentCoding.encoded(host.name, keeping: isAddress ? ":" : "")
            return (isAddress ? "[\(name)]" : name) + (host.port.map { ":\($0)" } ?? "")
        }
        let rest = scheme == .postgres ? "/" + PercentCoding.encoded(path) : PercentCoding.encoded(path, keeping: "/")
        return before + names.joined(separator: ",") + rest
    }
}

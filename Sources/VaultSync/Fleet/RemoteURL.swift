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
        let bytes = text.utf8.span
        guard let parts = URLParts(bytes), let scheme = parts.scheme.flatMap(Self.scheme) else {
            throw Self.invalid(
                """
                a remote is file:///absolute/path, ssh://host/absolute/path, postgres://user@host/database or \
                etcd://host
                """)
        }
        (user, hosts) = try Self.authority(bytes, parts, scheme)
        // The name of a folder may have a question mark and a number sign.
        let encodedPath = bytes.text(parts.path.lowerBound..<bytes.count)
        guard let path = PercentCoding.decoded(encodedPath), !path.utf8.contains(0) else {
            throw Self.invalid("the path of a remote has an incomplete % or a byte that no path has")
        }
        self.scheme = scheme
        self.path = try Self.path(path, scheme, parts)
    }

    private static func scheme(_ name: String) -> Scheme? { Scheme(rawValue: name == "postgresql" ? "postgres" : name) }

    private static func path(_ path: String, _ scheme: Scheme, _ parts: URLParts) throws(SyncError) -> String {
        // A query of libpq can contain a password.
        guard scheme == .file || parts.query == nil && parts.fragment == nil else {
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
        _ bytes: Span<UInt8>, _ parts: URLParts, _ scheme: Scheme
    ) throws(SyncError) -> (user: String?, hosts: [Host]) {
        if scheme == .file {
            guard parts.user == nil else {
                throw invalid("a folder has no user and no password: file:///absolute/path")
            }
            guard parts.server.isEmpty || bytes.text(parts.server).foldedASCII == "localhost" else {
                throw invalid("the path of a folder begins at the root: file:///absolute/path")
            }
            return (nil, [])
        }
        let user = try parts.user.map { range throws(SyncError) in try Self.user(bytes.text(range), scheme) }
        var hosts: [Host] = []
        let ranges = parts.server.split(omittingEmptySubsequences: false) { bytes[$0] == UInt8(ascii: ",") }
        for range in ranges { hosts.append(try host(bytes, range, scheme)) }
        guard hosts.count == 1 || scheme != .ssh else { throw invalid("a server by ssh is one host") }
        return (user, hosts)
    }

    private static func user(_ encoded: String, _ scheme: Scheme) throws(SyncError) -> String {
        guard let user = PercentCoding.decoded(encoded), !user.contains(":") else {
            throw invalid("a URL is stored, told and shown, and so holds no password: use --password-file")
        }
        // ssh parses a name that begins with "-" as an option.
        let isName = scheme == .ssh ? isHostName(user) : isPlainText(user)
        guard isName, user.utf8.count <= 255 else { throw invalid("the user of a remote has no such name") }
        return user
    }

    private static func host(_ bytes: Span<UInt8>, _ range: Range<Int>, _ scheme: Scheme) throws(SyncError) -> Host {
        guard let server = URLServer(bytes, range), server.port != nil || !server.hasColon else {
            throw invalid("a host is a name or an address, and a port a number from 1 to 65535")
        }
        // An explicit port of ssh stays, since the user's configuration sets the default.
        let port = server.port == scheme.usualPort ? nil : server.port
        let text = bytes.text(server.host)
        if text.hasPrefix("[") {
            let address = text.dropFirst().dropLast()
            guard address.contains(":"), address.utf8.allSatisfy({ $0.isASCIIAlphanumeric || ":.%".utf8.contains($0) })
            else { throw invalid("a host has no such address") }
            // The percent sign of a zone is itself encoded (RFC 6874). The names of interfaces keep their case.
            let parts = address.replacing("%25", with: "%").split(separator: "%", omittingEmptySubsequences: false)
            guard parts.count == 1 || parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty else {
                throw invalid("a host has no such address")
            }
            let zone = parts.count == 2 ? "%" + parts[1] : ""
            return Host(String(parts[0]).foldedASCII + zone, port: port)
        }
        guard let name = PercentCoding.decoded(text) else { throw invalid("a host has no such name") }
        if scheme == .postgres, name.hasPrefix("/"), isPlainText(name), !name.contains(",") {
            return Host(name, port: port)
        }
        guard isHostName(name) else { throw invalid("a host has no such name") }
        return Host(name.foldedASCII, port: port)
    }

    /// Whether a text consists of letters, digits, `.`, `_` and `-`, and does not begin with `-`, so that no program
    /// parses it as an option or as several shell words.
    private static func isHostName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255 && !text.hasPrefix("-")
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) }
    }

    private static func isPlainText(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
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

// SPDX-License-Identifier: Apache-2.0
package import SystemPackage

/// Where a remote is:
///
/// - `file:///dir`, a folder that devices share;
/// - `ssh://[user@]host[:port]/dir`, a folder of a server;
/// - `postgres://user@host[:port]/database`, of a socket `postgres://user@%2Frun%2Fpostgresql/database`;
/// - `etcd://[user@]host[:port]`.
///
/// The last two take several hosts of one service, with commas between them. No URL holds a password.
package struct RemoteURL: Hashable, Sendable {
    package enum Scheme: String, CaseIterable, Sendable {
        case file, ssh, postgres, etcd

        /// What a URL without a port means. Nil: nothing, or something else says so.
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
        /// Lower case; an IPv6 address without its brackets, with the zone that it may have as `%zone`; of a socket
        /// the directory from the root.
        package let name: String
        package let port: UInt16?

        package init(_ name: String, port: UInt16? = nil) { (self.name, self.port) = (name, port) }

        /// Whether it is the directory of a socket.
        package var isSocket: Bool { name.hasPrefix("/") }

        /// Whether no other machine hears what goes there.
        package var isLoopback: Bool {
            if name == "localhost" || name == "::1" { return true }
            // 127.1 is an address too, and only to some C libraries; 127.0.0.1.example.org is none.
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        }
    }

    package let scheme: Scheme
    package let user: String?
    /// Of a folder none, of a server by ssh one.
    package let hosts: [Host]
    /// Of a folder the path from the root, of PostgreSQL the database, of etcd empty.
    package let path: String

    package init(folder: FilePath) {
        (scheme, user, hosts, path) = (.file, nil, [], folder.lexicallyNormalized().string)
    }

    /// Of a `file` or `ssh` URL, from the root.
    package var folder: FilePath { FilePath(path) }

    /// - Throws: `.url`
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
        guard let path = Self.decoded(encodedPath), !path.utf8.contains(0) else {
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
        // A query of libpq's can hold a password.
        if scheme != .file, encoded.contains("?") || encoded.contains("#") {
            throw invalid("a remote has no query: what it needs goes into options of 'vault remote add'")
        }
        switch scheme {
        case .file, .ssh:
            guard path.hasPrefix("/") else {
                throw invalid("the path of a folder begins at the root: \(scheme.rawValue)://…/absolute/path")
            }
            // A shell of the server reads it.
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
        guard let user = decoded(encoded), !user.contains(":") else {
            throw invalid("a URL is stored, told and shown, and so holds no password: use --password-file")
        }
        // ssh takes what begins with "-" for an option.
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
            // The percent sign of a zone is encoded itself (RFC 6874); names of interfaces keep their case.
            let parts = address.replacing("%25", with: "%").split(separator: "%", omittingEmptySubsequences: false)
            guard parts.count == 1 || parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty else {
                throw invalid("a host has no such address")
            }
            let name = ([parts[0].lowercased()] + parts.dropFirst().map(String.init)).joined(separator: "%")
            return Host(name, port: try port(rest.isEmpty ? nil : rest.dropFirst(), scheme))
        }
        let colon = text.firstIndex(of: ":")
        let port = try port(colon.map { text[text.index(after: $0)...] }, scheme)
        guard let name = decoded(text[..<(colon ?? text.endIndex)]) else { throw invalid("a host has no such name") }
        if scheme == .postgres, name.hasPrefix("/"), isPlainText(name), !name.contains(",") {
            return Host(name, port: port)
        }
        guard isHostName(name) else { throw invalid("a host has no such name") }
        return Host(name.lowercased(), port: port)
    }

    /// Nil: the usual one. That of ssh is the user's configuration's affair, and so stays.
    private static func port(_ digits: Substring?, _ scheme: Scheme) throws(SyncError) -> UInt16? {
        guard let digits else { return nil }
        guard digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let port = UInt16(digits),
            port > 0
        else { throw invalid("a port is a number from 1 to 65535") }
        return port == scheme.usualPort ? nil : port
    }

    /// Letters, digits, `.`, `_` and `-`, which does not come first: no program takes it for an option or for words of
    /// a shell.
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

    /// With what a URL cannot have in percent signs (RFC 3986).
    package var text: String {
        let before = scheme.rawValue + "://" + (user.map { Self.encoded($0, and: "") + "@" } ?? "")
        let names = hosts.map { host in
            let isAddress = host.name.contains(":") && !host.isSocket
            let name = Self.encoded(host.name, and: isAddress ? ":" : "")
            return (isAddress ? "[\(name)]" : name) + (host.port.map { ":\($0)" } ?? "")
        }
        let rest = scheme == .postgres ? "/" + Self.encoded(path, and: "") : Self.encoded(path, and: "/")
        return before + names.joined(separator: ",") + rest
    }

    private static func encoded(_ text: String, and others: String) -> String {
        var result = ""
        for byte in text.utf8 {
            if isLetterOrDigit(byte) || "-._~".utf8.contains(byte) || others.utf8.contains(byte) {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%" + (digits.utf8.count == 1 ? "0" : "") + digits
            }
        }
        return result
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            // A radix of 16 takes a sign too.
            guard digits.count == 2, digits.allSatisfy(isLetterOrDigit),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

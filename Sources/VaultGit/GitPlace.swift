// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

/// The server that a credential is for. Another host never matches, nor the same host with another protocol or port.
struct GitPlace {
    private let protocolName: String
    let server: String
    /// The port; `nil` for the default one of the protocol.
    private let port: Int?
    private let path: String?

    /// Fails if the record names no place for which a credential could be stored.
    init?(_ record: GitRecord) {
        // Hosts are bytes to git: a letter that Unicode folds to another one is another host.
        protocolName = record.protocolName.foldedASCII
        path = record.path.flatMap { $0.isEmpty ? nil : $0 }
        let isName = protocolName.utf8.allSatisfy { $0.isASCIIAlphanumeric || "+-.".utf8.contains($0) }
        guard !protocolName.isEmpty, isName, record.host.utf8.count <= 1024 else { return nil }
        let host = record.host.foldedASCII
        let bytes = host.utf8.span
        guard let parts = URLServer(bytes, 0..<bytes.count), (parts.port != nil) == parts.hasColon else { return nil }
        // The passphrase of a certificate belongs to a file, without a host.
        guard !parts.host.isEmpty || protocolName == "cert" && path != nil else { return nil }
        server = bytes.text(parts.host)
        port = parts.port == URLScheme.usualPort(protocolName) ? nil : parts.port.map(Int.init)
    }

    var text: String {
        protocolName + "://" + server + (port.map { ":\($0)" } ?? "")
            + (path.map { $0.hasPrefix("/") ? $0 : "/" + $0 } ?? "")
    }

    /// The security domain that marks git's own items, so that their key differs from that of any other login of the
    /// place.
    private static let domain = "git"

    static func isOwn(_ item: Item) -> Bool { item[.securityDomain]?.text == domain }

    /// - Parameter type: the authentication type of a credential that is not a password.
    func key(_ user: String, _ type: String?) -> ItemKey {
        .internetPassword(
            server: server, account: user, protocol: ProtocolNames.code(protocolName), port: port, path: path,
            securityDomain: GitPlace.domain, authenticationType: type)
    }

    /// Returns how well an item matches this place, larger being better; `nil` if the item is for another place.
    func fit(_ item: Item) -> GitFit? {
        // Equal strings may differ in their bytes: the Kelvin sign equals a K.
        guard (item[.server]?.text ?? "").utf8.elementsEqual(server.utf8) else { return nil }
        let name = item[.protocolName]?.text.flatMap { $0.isEmpty ? nil : ProtocolNames.name($0).foldedASCII }
        // An item without a protocol is only sent over https, never in clear text.
        guard name == protocolName || name == nil && protocolName == "https" else { return nil }
        var port: Int?
        if case .number(let number) = item[.port], number != 0 { port = Int(number) }
        guard (port == URLScheme.usualPort(protocolName).map(Int.init) ? nil : port) == self.port else { return nil }
        guard let path = fit(GitPlace.parts(item[.path]?.text)) else { return nil }
        return GitFit(path: path, isOwn: GitPlace.isOwn(item), hasProtocol: name != nil)
    }

    /// Returns how well a path matches this place's: a path that is the beginning of another one is for all below it,
    /// as an owner of repositories is, and no path is for all of the host.
    private func fit(_ other: [[UInt8]]) -> GitFit.Path? {
        let own = GitPlace.parts(path)
        guard own != other else { return .exact }
        guard !own.isEmpty else { return .ofAnyPath }
        // The passphrase of a certificate is that file's.
        return protocolName != "cert" && own.starts(with: other) ? .above(other.count) : nil
    }

    /// Returns the parts of a path, which helpers write with and without a leading slash.
    private static func parts(_ path: String?) -> [[UInt8]] {
        (path ?? "").utf8.split(separator: UInt8(ascii: "/")).map(Array.init)
    }
}

/// How well an item matches a place.
struct GitFit: Comparable {
    enum Path: Comparable {
        /// The place has no path, and the item has.
        case ofAnyPath
        /// The item is for all paths that begin with its own, of so many parts.
        case above(Int)
        case exact
    }

    let path: Path
    let isOwn: Bool
    let hasProtocol: Bool

    /// Whether git may change and delete the item. It has just stored it for this place, or asked for no path.
    var isGits: Bool { isOwn && (path == .exact || path == .ofAnyPath) }

    private var order: (Path, Int, Int) { (path, isOwn ? 1 : 0, hasProtocol ? 1 : 0) }

    static func < (a: GitFit, b: GitFit) -> Bool { a.order < b.order }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// The internet passwords of a store, in the form in which git requests them.
package struct GitLogins {
    private let store: any ItemStore
    /// In seconds since 1970.
    private let now: Int64

    /// The names of user attributes, and of a field.
    private enum Names {
        static let authenticationType = "git.authtype"
        static let expiry = "git.password-expiry-utc"
        static let refreshToken = "git.oauth-refresh-token"
    }

    /// The prefix of a state that this helper has sent.
    private static let state = "vault:"

    package init(_ store: any ItemStore, now: Int64) { (self.store, self.now) = (store, now) }

    // MARK: get

    /// Returns the answer to a request; `nil` if there is none.
    package func answer(to record: GitRecord) throws(VaultError) -> GitRecord? {
        guard let place = GitPlace(record) else { return nil }
        let canTakeTypes = record.capabilities.contains("authtype")
        var expired: GitRecord?
        for item in try items(at: place, user: record.user, isExact: false) {
            let type = item.userAttributes[Names.authenticationType]
            guard type == nil || canTakeTypes else { continue }
            var answer = GitRecord()
            answer.user = item.account.flatMap { $0.isEmpty && type != nil ? nil : $0 }
            answer.expiry = expiry(of: item)
            answer.refreshToken = try item.openedSecret(field: Names.refreshToken)
            guard answer.expiry.map({ $0 > now }) ?? true else {
                answer.expiry = nil
                if expired == nil, answer.refreshToken != nil { expired = answer }
                continue
            }
            guard let secret = try item.openedSecret() else { continue }
            if let type {
                (answer.authenticationType, answer.credential) = (type, secret)
                answer.capabilities.append("authtype")
            } else {
                answer.password = secret
            }
            if record.capabilities.contains("state"), let version = item.record?.version {
                answer.capabilities.append("state")
                answer.states = [GitLogins.state + String(version)]
            }
            if answer.isSayable { return answer }
        }
        return expired.flatMap { $0.isSayable ? $0 : nil }
    }

    // MARK: store

    /// Stores a credential that git reports as accepted.
    ///
    /// - Returns: `false` if there was nothing to store.
    @discardableResult
    package func keep(_ record: GitRecord) throws(VaultError) -> Bool {
        guard let place = GitPlace(record), !record.isEphemeral, record.isSayable else { return false }
        let type = record.authenticationType
        guard let secret = type == nil ? record.password : record.credential, type != nil || record.user != nil else {
            return false
        }
        guard record.expiry.map({ $0 > now }) ?? true || record.refreshToken != nil else { return false }
        let known = try items(at: place, user: record.user ?? "", isExact: true).filter {
            ($0.userAttributes[Names.authenticationType] == nil) == (type == nil)
        }
        let expiry = record.expiry.map(String.init)
        // git reports after each use: an unchanged credential is left alone, and so is an item that is not git's.
        for item in known where try isSame(item, secret, type, expiry, record.refreshToken) { return true }
        guard let own = known.first(where: GitPlace.isOwn), let found = own.record else {
            var attributes: [String: String] = [:]
            attributes[Names.authenticationType] = type
            attributes[Names.expiry] = expiry
            var fields: [String: Secret] = [:]
            fields[Names.refreshToken] = record.refreshToken
            try store.set(
                Item(
                    place.key(record.user ?? "", type), attributes: [.label: .string("Git: \(place.text)")],
                    userAttributes: attributes, secret: secret, fields: fields))
            return true
        }
        var changes = ItemChanges(secret: secret)
        changes.userAttributes.updateValue(type, forKey: Names.authenticationType)
        changes.userAttributes.updateValue(expiry, forKey: Names.expiry)
        changes.fields.updateValue(record.refreshToken, forKey: Names.refreshToken)
        try store.update(matching: Query(persistentReference: found.persistentReference), with: changes)
        return true
    }

    private func isSame(
        _ item: Item, _ secret: Secret, _ type: String?, _ expiry: String?, _ refreshToken: Secret?
    ) throws(VaultError) -> Bool {
        guard item.userAttributes[Names.authenticationType] == type, item.userAttributes[Names.expiry] == expiry else {
            return false
        }
        let (old, token) = (try item.openedSecret(), try item.openedSecret(field: Names.refreshToken))
        return GitLogins.isSame(old, secret) && GitLogins.isSame(token, refreshToken)
    }

    private static func isSame(_ one: Secret?, _ other: Secret?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.withBytes { a in other.withBytes { b in isEqualInConstantTime(a, b) } }
    }

    // MARK: erase

    /// Deletes a credential that git reports as refused, unless it was changed since git got it. A login stored by
    /// another program, such as a browser, may still be valid for that program.
    ///
    /// - Returns: the number of deleted items.
    @discardableResult
    package func erase(_ record: GitRecord) throws(VaultError) -> Int {
        guard let place = GitPlace(record) else { return 0 }
        var count = 0
        for item in try items(at: place, user: record.user, isExact: false) where GitPlace.isOwn(item) {
            guard try isMeant(item, record), let found = item.record else { continue }
            count += try store.deleteAll(Query(persistentReference: found.persistentReference))
        }
        return count
    }

    private func isMeant(_ item: Item, _ record: GitRecord) throws(VaultError) -> Bool {
        let own = record.states.filter { $0.hasPrefix(GitLogins.state) }
        let version = item.record.map { GitLogins.state + String($0.version) }
        guard own.isEmpty || version.map(own.contains) == true else { return false }
        let isTyped = item.userAttributes[Names.authenticationType] != nil
        guard let said = record.credential ?? record.password else { return true }
        let secret = try item.openedSecret()
        return isTyped == (record.credential != nil) && GitLogins.isSame(secret, said)
    }

    // MARK: Finding

    /// Returns the items of a place, the best matches first, and among those the newest.
    ///
    /// - Parameter isExact: whether a place without a path matches only items without a path.
    private func items(at place: GitPlace, user: String?, isExact: Bool) throws(VaultError) -> [Item] {
        let query = Query(.internetPassword, account: user, server: place.server)
        let fits = try store.allMatching(query).compactMap { item in
            place.fit(item, isExact: isExact).map { (fit: $0, item: item) }
        }
        return fits.sorted { a, b in
            if a.fit != b.fit { return a.fit > b.fit }
            return (a.item.record?.modified ?? .distantPast) > (b.item.record?.modified ?? .distantPast)
        }.map(\.item)
    }

    private func expiry(of item: Item) -> Int64? { item.userAttributes[Names.expiry].flatMap { Int64($0) } }
}

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
            + (path.map { "/" + GitPlace.withoutSlash($0) } ?? "")
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
    func fit(_ item: Item, isExact: Bool) -> Int? {
        // Equal strings may differ in their bytes: the Kelvin sign equals a K.
        guard (item[.server]?.text ?? "").utf8.elementsEqual(server.utf8) else { return nil }
        let name = item[.protocolName]?.text.flatMap { $0.isEmpty ? nil : ProtocolNames.name($0).foldedASCII }
        // An item without a protocol is only sent over https, never in clear text.
        guard name == protocolName || name == nil && protocolName == "https" else { return nil }
        var port: Int?
        if case .number(let number) = item[.port], number != 0 { port = Int(number) }
        guard (port == URLScheme.usualPort(protocolName).map(Int.init) ? nil : port) == self.port else { return nil }
        let isSame = GitPlace.withoutSlash(item[.path]?.text ?? "") == GitPlace.withoutSlash(path ?? "")
        guard isSame || !isExact && path == nil else { return nil }
        return (GitPlace.isOwn(item) ? 4 : 0) + (name == nil ? 0 : 2) + (isSame ? 1 : 0)
    }

    /// Removes the leading slash of a URL's path, as git does.
    private static func withoutSlash(_ path: String) -> String {
        path.hasPrefix("/") ? String(path.dropFirst()) : path
    }
}

extension GitRecord {
    /// Whether each text fits into a line of the protocol.
    fileprivate var isSayable: Bool {
        let texts = [user, authenticationType].compactMap { $0 }
        return texts.allSatisfy { GitRecord.isLine(Array($0.utf8).span) }
            && [password, credential, refreshToken].allSatisfy { $0?.withBytes(GitRecord.isLine) ?? true }
    }

    private static func isLine(_ bytes: Span<UInt8>) -> Bool {
        bytes.indices.allSatisfy { bytes[$0] != 0 && bytes[$0] != 0x0a }
    }
}

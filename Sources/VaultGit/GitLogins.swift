// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// The internet passwords of a store, in the form in which git requests them.
package struct GitLogins {
    private let store: any RefusalStore
    /// In seconds since 1970.
    private let now: Int64
    private let servesImported: Bool

    /// An item for the place of a request.
    private struct Match {
        let item: Item
        let fit: GitFit
    }

    /// The names of user attributes, and of a field.
    private enum Names {
        static let authenticationType = "git.authtype"
        static let expiry = "git.password-expiry-utc"
        static let refreshToken = "git.oauth-refresh-token"
    }

    /// The prefix of a state that this helper has sent.
    private static let state = "vault:"

    /// - Parameter servesImported: whether git gets the logins of browsers and of other products, too.
    package init(_ store: any RefusalStore, now: Int64, servesImported: Bool = false) {
        (self.store, self.now, self.servesImported) = (store, now, servesImported)
    }

    // MARK: get

    /// Returns the answer to a request; `nil` if there is none.
    package func answer(to record: GitRecord) throws(VaultError) -> GitRecord? {
        guard let place = GitPlace(record) else { return nil }
        return try store.undisturbed { () throws(VaultError) in try answer(to: record, at: place) }
    }

    private func answer(to record: GitRecord, at place: GitPlace) throws(VaultError) -> GitRecord? {
        let canTakeTypes = record.capabilities.contains("authtype")
        var expired: GitRecord?
        for match in try matches(place, user: record.user) {
            let item = match.item
            let type = item.userAttributes[Names.authenticationType]
            guard type == nil || canTakeTypes, try isOffered(match) else { continue }
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
        try store.undisturbed { () throws(VaultError) in try keep(record, type, secret, at: place) }
        return true
    }

    private func keep(_ record: GitRecord, _ type: String?, _ secret: Secret, at place: GitPlace) throws(VaultError) {
        let expiry = record.expiry.map(String.init)
        for match in try matches(place, user: record.user ?? "") {
            let item = match.item
            guard (item.userAttributes[Names.authenticationType] == nil) == (type == nil) else { continue }
            if match.fit.isOwn, match.fit.path == .exact, let found = item.record {
                var changes = ItemChanges(secret: secret)
                changes.userAttributes.updateValue(type, forKey: Names.authenticationType)
                changes.userAttributes.updateValue(expiry, forKey: Names.expiry)
                if record.refreshToken != nil || item.fieldNames.contains(Names.refreshToken) {
                    changes.fields.updateValue(record.refreshToken, forKey: Names.refreshToken)
                }
                try store.update(matching: Query(persistentReference: found.persistentReference), with: changes)
                return
            }
            guard try isOffered(match) else { continue }
            // git reports after each use: the credential that it got is left where it is.
            let user = item.userAttributes
            guard user[Names.authenticationType] == type, user[Names.expiry] == expiry,
                try isSecret(secret, of: item)
            else { break }
            return
        }
        var attributes = [ItemNames.made: Maker.git.rawValue]
        attributes[Names.authenticationType] = type
        attributes[Names.expiry] = expiry
        var fields: [String: Secret] = [:]
        fields[Names.refreshToken] = record.refreshToken
        try store.add(
            Item(
                place.key(record.user ?? "", type), attributes: [.label: .string("Git: \(place.text)")],
                userAttributes: attributes, secret: secret, fields: fields))
    }

    private func isSecret(_ secret: Secret, of item: Item) throws(VaultError) -> Bool {
        try item.openedSecret()?.isEqual(to: secret) ?? false
    }

    // MARK: erase

    /// Deletes a credential that git reports as refused, unless it was changed since git got it. A login that git did
    /// not store, or that is for more than the path of the request, may still be valid elsewhere: this device does not
    /// offer it again until it changes.
    ///
    /// - Returns: the number of deleted items.
    @discardableResult
    package func erase(_ record: GitRecord) throws(VaultError) -> Int {
        guard let place = GitPlace(record) else { return 0 }
        var count = 0
        for match in try matches(place, user: record.user) {
            do throws(VaultError) {
                guard let found = match.item.record, try isMeant(match.item, record) else { continue }
                if match.fit.isGits {
                    count += try store.deleteAll(Query(persistentReference: found.persistentReference))
                } else if record.credential != nil || record.password != nil {
                    try store.noteRefusal(of: found)
                }
            } catch {
                // The server has refused the secret from before a change.
                guard error == .itemChanged || error == .itemNotFound else { throw error }
            }
        }
        return count
    }

    private func isMeant(_ item: Item, _ record: GitRecord) throws(VaultError) -> Bool {
        let own = record.states.filter { $0.hasPrefix(GitLogins.state) }
        let version = item.record.map { GitLogins.state + String($0.version) }
        guard own.isEmpty || version.map(own.contains) == true else { return false }
        guard let said = record.credential ?? record.password else { return true }
        let isTyped = item.userAttributes[Names.authenticationType] != nil
        guard isTyped == (record.credential != nil) else { return false }
        return try isSecret(said, of: item)
    }

    // MARK: Finding

    /// Returns the items for a place, the best matches first, and among those the last changed.
    private func matches(_ place: GitPlace, user: String?) throws(VaultError) -> [Match] {
        let query = Query(.internetPassword, account: user, server: place.server)
        let found = try store.allMatching(query).lastChangedFirst.compactMap { item in
            place.fit(item).map { Match(item: item, fit: $0) }
        }.filter { servesImported || GitOrigin.isOfGit($0.item) }
        return found.enumerated().sorted { a, b in
            a.element.fit == b.element.fit ? a.offset < b.offset : a.element.fit > b.element.fit
        }.map(\.element)
    }

    /// Returns whether git may have an item: a refused one that git cannot delete would end each of its requests.
    private func isOffered(_ match: Match) throws(VaultError) -> Bool {
        guard !match.fit.isGits, let record = match.item.record else { return true }
        return try !store.isRefused(record)
    }

    private func expiry(of item: Item) -> Int64? { item.userAttributes[Names.expiry].flatMap { Int64($0) } }
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

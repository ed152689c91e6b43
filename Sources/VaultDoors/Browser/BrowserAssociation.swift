// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
internal import VaultCrypto

/// A browser that a person has let in: a generic password `vault.browser`/ID, whose secret is the id key in base64, and
/// whose attributes say which browser it was, and for which hosts it may have logins.
package struct BrowserAssociation: Sendable {
    package static let service = "vault.browser"
    private static let programAttribute = "vault.program"
    /// Behind it stands the host, and its value is `yes` or `no`: an attribute for each, so that two browsers that are
    /// answered at once do not undo each other.
    private static let siteAttribute = "vault.site:"

    package let id: String
    /// What the browser's program was called.
    package let program: String
    package let created: Date
    /// The answers by hosts.
    package let sites: [String: Bool]
    private let item: Item

    private init?(_ item: Item) {
        guard let id = item.account, let record = item.record else { return nil }
        (self.id, self.item, created) = (id, item, record.created)
        program = item.userAttributes[BrowserAssociation.programAttribute] ?? ""
        var sites: [String: Bool] = [:]
        for (name, value) in item.userAttributes where name.hasPrefix(BrowserAssociation.siteAttribute) {
            let host = String(name.dropFirst(BrowserAssociation.siteAttribute.count))
            // Anything else than the one word is no.
            sites[host] = value == "yes"
        }
        self.sites = sites
    }

    /// In the one group in which they are made: a sandbox has its own to write to.
    private static func query(_ id: String?) -> Query {
        Query(.genericPassword, service: service, account: id, attributes: [.accessGroup: "default"])
    }

    /// All of a vault, in the order in which they were made.
    package static func all(in store: any ItemStore) throws(VaultError) -> [BrowserAssociation] {
        try store.allMatching(query(nil)).compactMap { BrowserAssociation($0) }
    }

    /// Nil: there is none.
    package static func find(_ id: String, in store: any ItemStore) throws(VaultError) -> BrowserAssociation? {
        guard (1...255).contains(id.utf8.count) else { return nil }
        return try store.first(query(id)).flatMap { BrowserAssociation($0) }
    }

    /// Keeps a new one.
    ///
    /// - Parameter key: 32 bytes.
    static func add(
        _ key: [UInt8], program: String, _ random: any RandomSource, to store: any ItemStore
    ) throws(VaultError) -> BrowserAssociation {
        let plain = program.lowercased().unicodeScalars.filter { scalar in
            ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) || "-_.".unicodeScalars.contains(scalar)
        }
        let name = plain.isEmpty ? "browser" : String(String.UnicodeScalarView(plain.prefix(32)))
        let secret = try Secret(copying: Data(key).base64EncodedString())
        var tries = 0
        while true {
            // Devices of a fleet do not hear of each other in time, and their browsers have the same name.
            let letters = random.bytes(4).map { Character(Unicode.Scalar(UInt8(ascii: "a") + $0 % 26)) }
            let id = "\(name)-\(String(letters))"
            do throws(VaultError) {
                let item = try store.add(
                    Item(
                        .genericPassword(service: service, account: id),
                        attributes: [.label: .string("Browser \(name)"), .accessGroup: .string("default")],
                        userAttributes: [programAttribute: String(program.prefix(64))], secret: secret))
                guard let added = BrowserAssociation(item) else { throw .itemNotFound }
                return added
            } catch {
                tries += 1
                guard error == .duplicateItem, tries < 8 else { throw error }
            }
        }
    }

    /// Whether a key, in base64, is the one that came with the association.
    func isKey(_ text: String) throws(VaultError) -> Bool {
        // It may be written with other bits at its end.
        guard let data = Data(base64Encoded: text), data.count == 32 else { return false }
        let given = Array(data.base64EncodedString().utf8)
        return try item.withSecret { isEqualInConstantTime($0, given.span) } ?? false
    }

    /// What a person said of a host; nil: nothing was asked.
    func answer(for host: WebHost) -> Bool? { sites[host.text] }

    /// Whether it may have what goes with a login that is named without a page: it saved it, or got it for a page.
    func mayHave(_ login: SavedLogin, _ suffixes: PublicSuffixes) -> Bool {
        if login.item.userAttributes[SavedLogin.ownerAttribute] == id { return true }
        return sites.contains { host, isAllowed in
            guard isAllowed, let host = WebHost(host) else { return false }
            return login.places.contains { host.isAtOrBelow($0.host, suffixes) }
        }
    }

    func keep(_ isAllowed: Bool, for host: WebHost, in store: any ItemStore) throws(VaultError) {
        try change([BrowserAssociation.siteAttribute + host.text: isAllowed ? "yes" : "no"], in: store)
    }

    /// Takes an answer back, so that it is asked for again.
    ///
    /// - Returns: false when there is none for the host.
    package func forget(_ host: String, in store: any ItemStore) throws(VaultError) -> Bool {
        let name = WebHost(host)?.text ?? host
        guard sites[name] != nil else { return false }
        try change([BrowserAssociation.siteAttribute + name: nil], in: store)
        return true
    }

    private func change(_ user: [String: String?], in store: any ItemStore) throws(VaultError) {
        guard let record = item.record else { throw .itemNotFound }
        try store.update(
            matching: Query(persistentReference: record.persistentReference), with: ItemChanges(userAttributes: user))
    }

    /// Takes it out of the vault: the browser has to ask to be let in again.
    package func delete(from store: any ItemStore) throws(VaultError) { try store.delete(item) }
}

// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// A browser that the user has approved: a generic password `vault.browser`/ID, whose secret is the id key in base64,
/// and whose attributes record the browser's program and the sites for which the browser may have logins.
package struct BrowserAssociation: Sendable {
    package static let service = HiddenItems.browserService
    private static let programAttribute = "vault.program"
    /// The prefix of an attribute named after a site (``site(of:)``); the value is `yes` or `no`. Each site has an
    /// attribute of its own, so that two concurrent answers do not overwrite each other.
    private static let siteAttribute = "vault.site:"

    package let id: String
    /// The name of the browser's program.
    package let program: String
    package let created: Date
    /// The user's answers, by site.
    package let sites: [String: Bool]
    private let item: Item

    private init?(_ item: Item) {
        guard let id = item.account, let record = item.record else { return nil }
        (self.id, self.item, created) = (id, item, record.created)
        program = item.userAttributes[BrowserAssociation.programAttribute] ?? ""
        var sites: [String: Bool] = [:]
        for (name, value) in item.userAttributes where name.hasPrefix(BrowserAssociation.siteAttribute) {
            let site = String(name.dropFirst(BrowserAssociation.siteAttribute.count))
            // Every value other than `yes` means no.
            sites[site] = value == "yes"
        }
        self.sites = sites
    }

    /// Restricted to the one group in which associations are created: a sandboxed program can write to a group of its
    /// own.
    private static func query(_ id: String?) -> Query {
        Query(.genericPassword, service: service, account: id, attributes: [.accessGroup: "default"])
    }

    /// Returns all associations of a vault, in the order of their creation.
    package static func all(in store: any ItemStore) throws(VaultError) -> [BrowserAssociation] {
        try store.allMatching(query(nil)).compactMap { BrowserAssociation($0) }
    }

    /// Returns the association with an identifier, and at once with the key to be checked; `nil` if there is none.
    package static func find(
        _ id: String, in store: any ItemStore, withKey: Bool = false
    ) throws(VaultError) -> BrowserAssociation? {
        guard (1...255).contains(id.utf8.count) else { return nil }
        var query = query(id)
        query.returnsSecrets = withKey
        return try store.first(query).flatMap { BrowserAssociation($0) }
    }

    /// Stores a new association, with a key of 32 bytes.
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
            // The devices of a fleet sync with a delay, and their browsers have the same name.
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

    /// Returns whether a key, in base64, is the one that came with the association.
    func isKey(_ text: String) throws(VaultError) -> Bool {
        // Base64 has several spellings of the same bytes (unused trailing bits), so the key is decoded and encoded
        // anew.
        guard let data = Data(base64Encoded: text), data.count == 32 else { return false }
        let given = Array(data.base64EncodedString().utf8)
        return try item.withSecret { isEqualInConstantTime($0, given.span) } ?? false
    }

    /// Returns the site of a page, for which an answer counts: the host alone for https at its usual port, and for http
    /// of this machine, which no network is in between; else scheme, host and port. Over http, or at another port,
    /// another server may answer for the host.
    private static func site(of page: WebPage) -> String {
        page.unusualPort == nil && (page.scheme == "https" || page.host.isLoopback) ? page.host.text : page.text
    }

    /// Returns the pages of a site, one per scheme.
    private static func pages(of site: String) -> [WebPage] {
        let urls = site.contains("://") ? [site] : ["https://\(site)", "http://\(site)"]
        return urls.compactMap { WebPage($0) }.filter { self.site(of: $0) == site }
    }

    /// The user's answer for a page; `nil` if the user was not asked.
    func answer(for page: WebPage) -> Bool? { sites[BrowserAssociation.site(of: page)] }

    /// Whether the browser may have the other data of a login that is named without a page: the browser saved the login
    /// itself, or was allowed to have it for a page.
    func mayHave(_ login: SavedLogin, _ suffixes: PublicSuffixes) -> Bool {
        if login.item.userAttributes[ItemNames.browser] == id { return true }
        return sites.contains { site, isAllowed in
            isAllowed
                && BrowserAssociation.pages(of: site).contains { page in
                    login.places.contains { page.matches($0, suffixes) }
                }
        }
    }

    func keep(_ isAllowed: Bool, for page: WebPage, in store: any ItemStore) throws(VaultError) {
        let site = BrowserAssociation.site(of: page)
        try change([BrowserAssociation.siteAttribute + site: isAllowed ? "yes" : "no"], in: store)
    }

    /// Removes answers, so that the user is asked again.
    ///
    /// - Parameter text: a URL, whose scheme, host and port count, or a host, of which all answers go.
    /// - Returns: `false` if there is no such answer.
    package func forget(_ text: String, in store: any ItemStore) throws(VaultError) -> Bool {
        let page = WebPage(text)
        let host = WebHost(text)
        let meant = sites.keys.filter { site in
            if let page { return BrowserAssociation.pages(of: site).contains(page) }
            return site == text || host != nil && BrowserAssociation.pages(of: site).contains { $0.host == host }
        }
        guard !meant.isEmpty else { return false }
        let names = meant.map { (BrowserAssociation.siteAttribute + $0, String?.none) }
        try change(Dictionary(names) { $1 }, in: store)
        return true
    }

    private func change(_ user: [String: String?], in store: any ItemStore) throws(VaultError) {
        guard let record = item.record else { throw .itemNotFound }
        try store.update(
            matching: Query(persistentReference: record.persistentReference), with: ItemChanges(userAttributes: user))
    }

    /// Deletes the association from the vault: the browser has to ask for approval again.
    package func delete(from store: any ItemStore) throws(VaultError) { try store.delete(item) }
}

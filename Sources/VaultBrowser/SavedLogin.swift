// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

/// An item that may be a login for pages: a password with a place of the web.
struct SavedLogin: Sendable {
    let face: ItemFace
    let record: ItemRecord
    let places: [WebPlace]

    /// Fails if the item is not a login.
    init?(_ item: Item) {
        guard let record = item.record, !HiddenItems.contains(group: item[.accessGroup]?.text ?? "") else { return nil }
        switch item.itemClass {
        case .internetPassword: break
        case .genericPassword:
            guard ![BrowserAssociation.service, HiddenItems.collectionService].contains(item.service) else {
                return nil
            }
        case .certificate, .key: return nil
        }
        let face = ItemFace(item)
        let places = face.places
        guard !places.isEmpty else { return nil }
        (self.face, self.record, self.places) = (face, record, places)
    }

    var item: Item { face.item }

    /// The identifier as 32 hexadecimal digits, as KeePassXC writes it.
    var uuid: String { record.shortID(digits: 32) }

    /// Returns the places by which the login matches the page.
    func places(for page: WebPage, _ suffixes: PublicSuffixes) -> [WebPlace] {
        places.filter { page.matches($0, suffixes) }
    }

    /// Returns whether an association saved the login for exactly this host.
    func isOwn(of association: String, on page: WebPage) -> Bool {
        item.userAttributes[ItemNames.browser] == association
            && places.contains { $0.host == page.host && page.matches($0, PublicSuffixes()) }
    }
}

extension ItemStore {
    /// Returns the logins for one of these hosts, the last changed first; `nil` stands for every host.
    func logins(of hosts: [String]?) throws(VaultError) -> [SavedLogin] {
        var found: [Item] = []
        for itemClass in [ItemClass.internetPassword, .genericPassword] {
            var query = Query(itemClass)
            query.leavesOutLocked = true
            query.face = hosts.map { .hosts($0) }
            found += try allMatching(query)
        }
        return found.lastChangedFirst.compactMap { SavedLogin($0) }
    }

    /// Returns the login with a UUID in the extension's format; `nil` if the text is invalid, or there is no such
    /// login.
    func login(_ uuid: String) throws(VaultError) -> SavedLogin? {
        guard let id = bytes(hexadecimal: uuid.lowercased()), id.count == 16 else { return nil }
        for itemClass in [ItemClass.internetPassword, .genericPassword] {
            let query = Query(persistentReference: Array(itemClass.rawValue.utf8) + id)
            if let item = try first(query) { return SavedLogin(item) }
        }
        return nil
    }
}

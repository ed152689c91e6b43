// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultDoorKit
internal import VaultFormat

/// An item that may be a login for pages: an internet password, or a generic one whose service is a host or a URL.
struct SavedLogin: Sendable {
    /// The attribute with the identifier of the association that saved the login.
    static let ownerAttribute = "vault.browser"
    static let folderAttribute = "folder"
    static let codeField = "otp"

    let item: Item
    let record: ItemRecord
    let places: [WebPlace]

    /// Fails if the item is not a login.
    init?(_ item: Item) {
        guard let record = item.record, !HiddenItems.contains(group: item[.accessGroup]?.text ?? "") else { return nil }
        let user = item.userAttributes
        var places: [WebPlace] = []
        switch item.itemClass {
        case .internetPassword: if let place = SavedLogin.place(ofInternet: item) { places.append(place) }
        case .genericPassword:
            let service = item[.service]?.text ?? ""
            guard service != BrowserAssociation.service, service != HiddenItems.collectionService else { return nil }
            if let place = WebPlace(service), place.scheme != nil || place.host.isMoreThanAWord { places.append(place) }
        default: return nil
        }
        // Further URLs kept by an import.
        for (name, value) in user where name == "url" || name.hasPrefix("url.") {
            if let place = WebPlace(value), place.scheme != nil { places.append(place) }
        }
        guard !places.isEmpty else { return nil }
        (self.item, self.record, self.places) = (item, record, places)
    }

    private static func place(ofInternet item: Item) -> WebPlace? {
        guard let server = item[.server]?.text, let host = WebHost(bracketed(server)) else { return nil }
        let name = item[.protocolName]?.text ?? ""
        var port: Int?
        if case .number(let number) = item[.port], number != 0 { port = Int(exactly: number) }
        return WebPlace(scheme: name.isEmpty ? nil : ProtocolNames.name(name), host: host, port: port)
    }

    /// Adds the brackets to an IPv6 address: users omit them where the address stands alone.
    private static func bracketed(_ server: String) -> String {
        server.contains(":") && !server.hasPrefix("[") ? "[\(server)]" : server
    }

    var account: String { item.account ?? "" }

    var name: String {
        if let label = item.label, !label.isEmpty { return label }
        return item.server ?? item.service ?? ""
    }

    var folder: String { item.userAttributes[SavedLogin.folderAttribute] ?? "" }

    /// The identifier as 32 hexadecimal digits, as KeePassXC writes it.
    var uuid: String { SavedLogin.hexadecimal(record.id) }

    static func hexadecimal(_ id: UUID) -> String { id.uuidString.lowercased().replacing("-", with: "") }

    /// Returns the places by which the login matches the page.
    func places(for page: WebPage, _ suffixes: PublicSuffixes) -> [WebPlace] {
        places.filter { page.matches($0, suffixes) }
    }

    /// Returns whether an association saved the login for exactly this host.
    func isOwn(of association: String, on page: WebPage) -> Bool {
        item.userAttributes[SavedLogin.ownerAttribute] == association
            && places.contains { $0.host == page.host && page.matches($0, PublicSuffixes()) }
    }
}

extension ItemStore {
    /// Returns the logins among the items.
    func logins() throws(VaultError) -> [SavedLogin] {
        var found: [SavedLogin] = []
        for itemClass in [ItemClass.internetPassword, .genericPassword] {
            var query = Query(itemClass)
            query.leavesOutLocked = true
            found += try allMatching(query).compactMap { SavedLogin($0) }
        }
        return found
    }

    /// Returns the login with a UUID in the extension's format; `nil` if the text is invalid, or there is no such
    /// login.
    func login(_ uuid: String) throws(VaultError) -> SavedLogin? {
        guard let id = UUID(hexadecimal: uuid) else { return nil }
        for itemClass in [ItemClass.internetPassword, .genericPassword] {
            let query = Query(persistentReference: ItemRecord.persistentReference(itemClass, id))
            if let item = try first(query) { return SavedLogin(item) }
        }
        return nil
    }
}

extension UUID {
    /// - Parameter text: 32 digits without hyphens.
    init?(hexadecimal text: String) {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let digits = Array(text)
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
        self.init(uuidString: groups.joined(separator: "-"))
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The parts of an item that people and programs see: each view of an item, be it the command's, the bus's, git's, a
/// browser's or a file's, takes its parts from here.
package struct ItemFace: Sendable {
    package let item: Item
    /// All user attributes, decoded once.
    private let attributes: [String: String]

    package init(_ item: Item) { (self.item, attributes) = (item, item.userAttributes) }

    /// The label; else the place, with the user in parentheses if there is one. Never empty.
    package var title: String {
        if let label = item.label, !label.isEmpty { return label }
        let (place, user) = (place, user)
        guard !place.isEmpty else { return user.isEmpty ? kind ?? item.itemClass.noun : user }
        return user.isEmpty ? place : "\(place) (\(user))"
    }

    /// The server or the service, which a reference names; of a passkey the site, of a certificate the subject.
    package var place: String {
        switch item.itemClass {
        case .genericPassword: item.service ?? ""
        case .internetPassword: item.server ?? ""
        case .certificate:
            if case .data(let name) = item[.subject], let text = DistinguishedName.summary(normalized: name.span) {
                text
            } else {
                ""
            }
        case .key: Passkey(item)?.relyingParty ?? item[.applicationTag]?.text ?? ""
        }
    }

    /// The user name that the item's program gave, else the account. The account of a program's item may have a number
    /// behind it.
    package var user: String {
        if let passkey = Passkey(item) { return passkey.names.user }
        let account = item.account ?? ""
        let given = programAttributes
        return given.areGiven && !given.account.isEmpty && given.gave(account: account) ? given.account : account
    }

    /// The attributes by which programs on the bus find the item.
    package var programAttributes: ProgramAttributes { ProgramAttributes(of: item) }

    /// The kind of the item, if it is not a login.
    package var kind: String? { present(item[.itemDescription]?.text) }

    /// The notes in the open; an item may have a field of notes instead, see ``ItemNames/notes``.
    package var comment: String? { present(item[.comment]?.text) }

    package var folder: String? { present(attributes[ItemNames.folder]) }

    package var tags: [String] {
        (attributes[ItemNames.tags] ?? "").split(whereSeparator: \.isNewline).map(String.init)
    }

    /// The maker of the item, see ``Maker``; `nil` for an item of an earlier version.
    package var made: String? { present(attributes[ItemNames.made]) }

    /// The attributes of a user or a program that are no part of the face under another name, in the order of their
    /// names. Those that only the import of the item uses are left out.
    package var others: [(name: String, text: String)] {
        let isPasskey = item.itemClass == .key && Passkey(item) != nil
        return attributes.filter { name, _ in
            !name.hasPrefix(ItemNames.prefix) && !ItemNames.isPart(name) && !(isPasskey && Passkey.isPart(name))
        }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func present(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }

    // MARK: Addresses

    /// The URLs: server with protocol, port and path, or the first URL as it was written; then the further ones. Of an
    /// item with none of them, the page of its host.
    package var urls: [String] {
        var urls: [String] = []
        let written = attributes[ItemNames.url]
        if item.itemClass == .internetPassword {
            let address = WebAddress(item)
            let isWritten = written.flatMap { WebAddress($0) }.map { $0.host == address.host } ?? false
            if !isWritten, !address.host.isEmpty { urls.append(address.text) }
        }
        if let written { urls.append(written) }
        urls += furtherURLs
        return urls.isEmpty ? host.map { ["https://\($0.text)"] } ?? [] : urls
    }

    private var furtherURLs: [String] {
        let prefix = ItemNames.url + "."
        return attributes.compactMap { name, url -> (Int, String)? in
            guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)) else { return nil }
            return (number, url)
        }.sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// The host: of the server, else of the first URL, else the one that the service is or names.
    package var host: WebHost? { places.first?.host }

    /// The servers of the web that the item is for, each once.
    package var places: [WebPlace] {
        var places: [WebPlace] = []
        func add(_ place: WebPlace?) { if let place, !places.contains(place) { places.append(place) } }
        if item.itemClass == .internetPassword { add(WebPlace(ofInternet: item)) }
        // A URL as it was written has a scheme.
        for url in (attributes[ItemNames.url].map { [$0] } ?? []) + furtherURLs {
            if let place = WebPlace(url), place.scheme != nil { add(place) }
        }
        // The file beside a login of a host is no password for that host's pages.
        let isFile = attributes[ItemNames.source] != nil && item.service?.hasSuffix(ItemNames.attachmentSuffix) == true
        if item.itemClass == .genericPassword, !isFile, let place = WebPlace(item.service ?? ""),
            place.scheme != nil || place.host.isMoreThanAWord
        {
            add(place)
        }
        return places
    }

    // MARK: Secrets

    /// The names of the fields, without those that only the import of the item uses.
    package var fieldNames: [String] { item.fieldNames.filter { !$0.hasPrefix(ItemNames.prefix) } }

    /// Returns the secret; `nil` for an item that has none. An item that has only fields is stored with an empty one.
    ///
    /// - Throws: as ``Item/openedSecret(field:)``.
    package func openedSecret() throws(VaultError) -> Secret? {
        guard let secret = try item.openedSecret(), secret.count > 0 || fieldNames.isEmpty else { return nil }
        return secret
    }

    /// Returns the seed of the item's one-time passwords: the field `otp`, else a secret that is a URI of one. A
    /// password that could be read as base32 is none.
    ///
    /// - Throws: as ``Item/openedSecret(field:)``.
    package func oneTimePasswordSeed() throws(VaultError) -> Secret? {
        if item.fieldNames.contains(ItemNames.otp) { return try item.openedSecret(field: ItemNames.otp) }
        guard let secret = try item.openedSecret(), secret.withBytes({ OneTimePassword.isURI($0) }) else { return nil }
        return secret
    }
}

extension ItemClass {
    /// The name of the class in a sentence.
    fileprivate var noun: String {
        switch self {
        case .genericPassword, .internetPassword: "password"
        case .certificate: "certificate"
        case .key: "key"
        }
    }
}

extension WebHost {
    /// The host without the `www` in front of a name, which people and sites leave out.
    package var withoutWWW: String { labels.count > 2 && labels[0] == "www" ? String(text.dropFirst(4)) : text }
}

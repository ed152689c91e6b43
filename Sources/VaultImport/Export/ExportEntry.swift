// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// An item to be exported.
///
/// Size: the properties are the parts that other products know, from which each format takes its own.
package struct ExportEntry: Sendable {
    /// The item's own identifier.
    package let id: UUID
    /// The origin, as `FORMAT:ID`, if the item was imported.
    package let source: String?
    package var title: String
    package var user: String
    package var urls: [String] = []
    package var folder: String
    package var notes: Secret?
    package var kind: String?
    package var password: Secret?
    package var otp: Secret?
    package var fields: [(name: String, secret: Secret)] = []
    package var attributes: [(name: String, value: String)] = []
    /// The attributes that are booleans in the format of origin.
    package var booleans: Set<String> = []
    package var attachments: [(name: String, content: Secret)] = []
    package var passkeys: [PortablePasskey] = []
    /// Whether the entry is a passkey without a login.
    package let isPasskeyAlone: Bool
    package let created: Date
    package let modified: Date
    /// What an import from the format states of its items.
    private var made = ""
    /// The item; `nil` for a passkey without a login.
    private let item: Item?
    /// Whether the URLs are the item's own, not that of its place.
    private let hasOwnURLs: Bool

    /// Returns the entry's ID in a format, if it was imported from there.
    func id(in format: String) -> String? {
        source.flatMap { $0.hasPrefix(format + ":") ? String($0.dropFirst(format.count + 1)) : nil }
    }

    /// - Throws: the vault's error if a secret cannot be opened.
    init(_ item: Item) throws(VaultError) {
        let (face, attributes) = (ItemFace(item), item.userAttributes)
        isPasskeyAlone = false
        id = item.record?.id ?? UUID()
        source = attributes[ItemNames.source]
        created = item.record?.created ?? Date()
        modified = item.record?.modified ?? Date()
        (title, user, urls, folder, kind) = (face.title, face.user, face.urls, face.folder ?? "", face.kind)
        self.item = item
        let hasOwnURLs =
            item.itemClass == .internetPassword || attributes[ItemNames.url] != nil
            || attributes[ItemNames.furtherURL(2)] != nil
        self.hasOwnURLs = hasOwnURLs
        // The page of a place is of use to those who fill in a login.
        if !hasOwnURLs, kind != nil { urls = [] }
        password = try item.openedSecret()
        for name in item.fieldNames where name != ItemNames.fingerprint {
            guard let secret = try item.openedSecret(field: name) else { continue }
            if name == ItemNames.otp { otp = secret } else { fields.append((name, secret)) }
        }
        if let comment = face.comment {
            notes = try? Secret(plain: comment)
        } else if let place = fields.firstIndex(where: { $0.name == ItemNames.notes }) {
            notes = fields.remove(at: place).secret
            self.attributes.append((Statement.notes, "field"))
        }
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            let shown = CustomName.shown(name)
            if shown != name || !ItemNames.isReserved(name) || name.hasPrefix(ItemNames.custom) {
                self.attributes.append((shown, value))
            }
        }
        self.attributes += statements(readAs: asRead)
        booleans = Set((attributes[ItemNames.booleans] ?? "").split(separator: "\n").map(String.init))
    }

    /// The entry as an import reads it, unless its format has a rule of its own.
    private var asRead: Login {
        var login = Login(id: "", place: "")
        (login.title, login.user, login.urls, login.kind, login.folder) = (title, user, urls, kind, folder)
        return login
    }

    /// States the kind of the entry, for a format without a place for it.
    mutating func stateKind() {
        if let kind { attributes.append((Statement.kind, kind)) }
    }

    /// Leaves out what an import from a format states anyway.
    fileprivate mutating func settle(for format: String) {
        made = Maker.of(importFrom: format)
        attributes.removeAll { $0 == (ItemNames.made, made) }
    }

    /// Replaces the statements, for a format that reads an entry in another way.
    mutating func restate(_ change: (inout Login) -> Void) {
        guard item != nil else { return }
        var login = asRead
        change(&login)
        attributes.removeAll { $0.name.hasPrefix(ItemNames.prefix) && $0.name != Statement.notes }
        attributes += statements(readAs: login)
    }

    private func statements(readAs login: Login) -> [(name: String, value: String)] {
        guard let item else { return [] }
        return Statement.about(item, readAs: login, hasOwnURLs: hasOwnURLs).filter { $0 != (ItemNames.made, made) }
    }

    /// An entry for a passkey without a login.
    init(_ portable: PortablePasskey) {
        let passkey = portable.passkey
        id = passkey.item.record?.id ?? UUID()
        source = nil
        (created, modified) = (passkey.item.record?.created ?? Date(), passkey.item.record?.modified ?? Date())
        let name = passkey.names.relyingParty
        title = "\(name.isEmpty ? passkey.relyingParty : name) (Passkey)"
        user = passkey.names.user
        urls = ["https://\(passkey.relyingParty)"]
        (folder, item, hasOwnURLs) = ("", nil, true)
        passkeys = [portable]
        isPasskeyAlone = true
    }

    var tags: [String] {
        (attributes.first { $0.name == ItemNames.tags }?.value ?? "").split(separator: "\n").map(String.init)
    }

    /// Removes the tags, and returns them, if a product separates them by none of their characters.
    mutating func takeTags(separatedBy separators: String) -> [String]? {
        guard let place = attributes.firstIndex(where: { $0.name == ItemNames.tags }) else { return nil }
        let tags = tags
        let isFitting = tags.allSatisfy { tag in
            !tag.contains { separators.contains($0) } && tag.first?.isWhitespace == false
                && tag.last?.isWhitespace == false
        }
        guard isFitting else { return nil }
        attributes.remove(at: place)
        return tags
    }

    /// Replaces the secrets that are no text by their base64, and states which.
    mutating func encodeBinaries() throws(CryptoError) {
        var names: [String] = []
        if let secret = password, !secret.isUTF8 {
            password = try secret.encodedBase64()
            names.append(Statement.password)
        }
        for place in fields.indices where !fields[place].secret.isUTF8 {
            fields[place].secret = try fields[place].secret.encodedBase64()
            names.append(fields[place].name)
        }
        if !names.isEmpty { attributes.append((Statement.base64, Statement.text(names))) }
    }

    /// Whether all secrets are UTF-8.
    var hasOnlyTexts: Bool { ([password, otp, notes] + fields.map(\.secret)).allSatisfy { $0?.isUTF8 ?? true } }

    /// Whether the entry is a key that the ssh door serves.
    var isServedKey: Bool { user.hasPrefix("SHA256:") && attributes.contains { $0.name == "ssh.public" } }
}

extension Secret {
    /// Whether every reader of text accepts it: UTF-8 without control characters other than tabs and line ends.
    var isPlainText: Bool {
        withBytes { bytes in
            guard bytes.isUTF8 else { return false }
            return bytes.indices.allSatisfy { index in
                // U+FFFE and U+FFFF are noncharacters, which XML cannot contain.
                let isNone = bytes[index] == 0xef && bytes[index + 1] == 0xbf && bytes[index + 2] >= 0xbe
                return bytes[index] >= 0x20 && bytes[index] != 0x7f && !isNone || [9, 10, 13].contains(bytes[index])
            }
        }
    }
}

/// The entries to be exported, and the parts that a format cannot represent.
package struct ExportedEntries: Sendable {
    package private(set) var entries: [ExportEntry] = []
    /// The number of entries at the end that are passkeys without a login.
    private var lonePasskeys = 0
    /// The items of attachments, with the places of their entries.
    private var attached: [(place: Int, item: Item)] = []
    /// The numbers of omitted parts, by description.
    package private(set) var leftOut: [String: Int] = [:]
    /// The number of entries of which an import cannot tell all of what they are in the vault.
    package private(set) var unstated = 0

    /// - Parameters:
    ///   - items: certificates and keys other than passkeys are omitted, and so are items that belong to the device or
    ///     to services.
    ///   - progress: receives the share of opened items, from 0 to 1.
    package init(_ items: [Item], progress: (Double) -> Void = { _ in }) throws(ImportError) {
        let staying: Set<String> = ["device-identifiers", "systemd"]
        var attachments: [(parent: String, name: String, item: Item)] = []
        var passkeys: [Passkey] = []
        var places: [String: Int] = [:]
        for (index, item) in items.enumerated() {
            guard !staying.contains(item[.accessGroup]?.text ?? "") else { continue }
            if let passkey = Passkey(item) {
                passkeys.append(passkey)
                continue
            }
            guard [.genericPassword, .internetPassword].contains(item.itemClass) else {
                leaveOut(item.itemClass == .key ? "keys" : "certificates")
                continue
            }
            let source = item.userAttributes[ItemNames.source]
            if let (parent, name) = ExportedEntries.attachment(item, source) {
                attachments.append((parent, name, item))
                continue
            }
            if let source { places[source] = entries.count }
            entries.append(try outside { try ExportEntry(item) })
            progress(Double(index) / Double(items.count))
        }
        for (parent, name, item) in attachments {
            if let place = places[parent], let content = try item.opened(nil) {
                entries[place].attachments.append((name, content))
                attached.append((place, item))
            } else {
                entries.append(try outside { try ExportEntry(item) })
            }
        }
        let accounts = passkeys.isEmpty ? [:] : self.accounts
        for passkey in passkeys {
            let portable = try outside { try PortablePasskey(passkey) }
            let parent = ExportedEntries.parent(of: passkey).flatMap { places[$0] }
            let account = Account(user: passkey.names.user, domain: passkey.relyingParty)
            if let place = parent ?? accounts[account] {
                entries[place].passkeys.append(portable)
            } else {
                entries.append(ExportEntry(portable))
                lonePasskeys += 1
            }
        }
    }

    /// An account of a site, as passkeys and logins name it.
    private struct Account: Hashable {
        let user: String
        let domain: String
    }

    /// The first login of each account, by the hosts of its URLs and the domains above them.
    private var accounts: [Account: Int] {
        var accounts: [Account: Int] = [:]
        for (place, entry) in entries.enumerated() {
            for url in entry.urls {
                guard let host = WebAddress(url)?.host else { continue }
                var domain = host[...]
                while true {
                    let account = Account(user: entry.user, domain: String(domain))
                    if accounts[account] == nil { accounts[account] = place }
                    guard let dot = domain.firstIndex(of: ".") else { break }
                    domain = domain[domain.index(after: dot)...]
                }
            }
        }
        return accounts
    }

    /// Returns the source of the entry with which a passkey was imported.
    static func parent(of passkey: Passkey) -> String? {
        guard var source = passkey.item.userAttributes[ItemNames.source]?[...] else { return nil }
        // A further passkey has a number behind it.
        if let mark = source.lastIndex(of: "~"), Int(source[mark...].dropFirst()) != nil { source = source[..<mark] }
        guard source.hasSuffix(ItemNames.passkeySuffix) else { return nil }
        return String(source.dropLast(ItemNames.passkeySuffix.count))
    }

    /// Returns the item's source and name as an attachment; `nil` if it is not an attachment.
    private static func attachment(_ item: Item, _ source: String?) -> (parent: String, name: String)? {
        let service = item.userAttributes[ItemNames.originalKey] ?? item.service
        guard let name = item.account, var source, service?.hasSuffix(ItemNames.attachmentSuffix) == true else {
            return nil
        }
        // A repeated name has a number behind it.
        if !source.hasSuffix("/" + name), let mark = source.lastIndex(of: "~") { source = String(source[..<mark]) }
        guard source.hasSuffix("/" + name) else { return nil }
        return (String(source.dropLast(name.count + 1)), name)
    }

    /// Makes entries of attachments, for a format without a place for them.
    mutating func separateAttachments() throws(ImportError) {
        for (place, item) in attached {
            entries[place].attachments = []
            entries.append(try outside { try ExportEntry(item) })
        }
        attached = []
    }

    /// Leaves out what an import from a format states anyway.
    mutating func settle(for format: String) {
        for place in entries.indices { entries[place].settle(for: format) }
    }

    /// The number of entries omitted as a whole.
    package private(set) var missing = 0

    mutating func leaveOutWhole(_ what: String) {
        leaveOut(what)
        missing += 1
    }

    /// Omits all passkeys.
    mutating func leaveOutPasskeys() {
        leaveOut("passkeys", entries.reduce(0) { $0 + $1.passkeys.count })
        entries.removeLast(lonePasskeys)
        lonePasskeys = 0
    }

    /// Counts statements about items, without which the items are other ones of the vault, but no secret is missing.
    mutating func leaveOutOwn(_ attributes: [(name: String, value: String)]) {
        unstated += attributes.contains { $0.name.hasPrefix(ItemNames.prefix) && $0.name != ItemNames.made } ? 1 : 0
    }

    mutating func leaveOut(_ what: String, _ count: Int = 1) {
        if count > 0 { leftOut[what, default: 0] += count }
    }
}

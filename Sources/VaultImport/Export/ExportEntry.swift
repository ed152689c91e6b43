// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// An item to be exported, in the parts that other products know.
///
/// Size: the properties are these parts.
package struct ExportEntry: Sendable {
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
    package let isPasskeyAlone: Bool
    package let created: Date
    package let modified: Date
    private let item: Item?
    /// Whether the URLs are the item's own, not that of its place.
    private let hasOwnURLs: Bool

    func id(in format: String) -> String? {
        source.flatMap { $0.hasPrefix(format + ":") ? String($0.dropFirst(format.count + 1)) : nil }
    }

    /// - Throws: the vault's error if a secret cannot be opened.
    init(_ item: Item) throws(ImportError) {
        let (face, attributes) = (ItemFace(item), item.userAttributes)
        (id, source) = (item.record?.id ?? UUID(), attributes[ItemNames.source])
        (created, modified) = (item.record?.created ?? Date(), item.record?.modified ?? Date())
        (title, user, urls, folder, kind) = (face.title, face.user, face.urls, face.folder ?? "", face.kind)
        (self.item, isPasskeyAlone) = (item, false)
        hasOwnURLs =
            item.itemClass == .internetPassword || attributes[ItemNames.url] != nil
            || attributes[ItemNames.furtherURL(2)] != nil
        // The page of a place is of use to those who fill in a login.
        if !hasOwnURLs, kind != nil { urls = [] }
        password = try item.opened(nil)
        for name in item.fieldNames where name != ItemNames.fingerprint {
            if let secret = try item.opened(name) { fields.append((name, secret)) }
        }
        otp = takeField(ItemNames.otp)
        if let comment = face.comment {
            notes = try Secret(plain: comment)
        } else if let field = takeField(ItemNames.notes) {
            notes = field
            self.attributes.append((Statement.notes, "field"))
        }
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            let shown = CustomName.shown(name)
            if shown != name || !ItemNames.isReserved(name) || name.hasPrefix(ItemNames.custom) {
                self.attributes.append((shown, value))
            }
        }
        self.attributes += Statement.about(item, readAs: asRead, hasOwnURLs: hasOwnURLs)
        booleans = Set((attributes[ItemNames.booleans] ?? "").split(separator: "\n").map(String.init))
    }

    /// The entry as an import reads it, unless its format has a rule of its own.
    private var asRead: Login {
        var login = Login(id: "", place: "")
        (login.title, login.user, login.urls, login.kind, login.folder) = (title, user, urls, kind, folder)
        return login
    }

    mutating func stateKind() {
        if let kind { attributes.append((Statement.kind, kind)) }
    }

    /// Leaves out what an import from a format states anyway.
    mutating func settle(for format: String) {
        attributes.removeAll { $0 == (ItemNames.made, Maker.of(importFrom: format)) }
    }

    mutating func restate(_ change: (inout Login) -> Void) {
        guard let item else { return }
        var login = asRead
        change(&login)
        attributes.removeAll { $0.name.hasPrefix(ItemNames.prefix) && $0.name != Statement.notes }
        attributes += Statement.about(item, readAs: login, hasOwnURLs: hasOwnURLs)
    }

    init(_ portable: PortablePasskey) {
        let passkey = portable.passkey
        let (record, name) = (passkey.item.record, passkey.names.relyingParty)
        (id, source) = (record?.id ?? UUID(), nil)
        (created, modified) = (record?.created ?? Date(), record?.modified ?? Date())
        title = "\(name.isEmpty ? passkey.relyingParty : name) (Passkey)"
        user = passkey.names.user
        urls = ["https://\(passkey.relyingParty)"]
        (folder, item, hasOwnURLs, passkeys, isPasskeyAlone) = ("", nil, true, [portable], true)
    }

    var tags: [String] {
        (attributes.first { $0.name == ItemNames.tags }?.value ?? "").split(separator: "\n").map(String.init)
    }

    /// Removes the tags, and returns them, if a product separates them by none of their characters.
    mutating func takeTags(separatedBy separators: String) -> [String]? {
        let tags = tags
        let isFitting = tags.allSatisfy { tag in
            !tag.contains { separators.contains($0) } && tag.first?.isWhitespace == false
                && tag.last?.isWhitespace == false
        }
        return isFitting ? takeAttribute(ItemNames.tags).map { _ in tags } : nil
    }

    mutating func takeAttribute(_ name: String, where isFitting: (String) -> Bool = { _ in true }) -> String? {
        let place = attributes.firstIndex { $0.name == name && isFitting($0.value) }
        return place.map { attributes.remove(at: $0).value }
    }

    mutating func takeField(_ name: String, where isFitting: (Secret) -> Bool = { _ in true }) -> Secret? {
        let place = fields.firstIndex { $0.name == name && isFitting($0.secret) }
        return place.map { fields.remove(at: $0).secret }
    }

    /// Replaces the secrets that are no text by their base64, and states which.
    mutating func encodeBinaries() throws(ImportError) {
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
    private var attached: [(place: Int, item: Item)] = []
    /// The numbers of omitted parts, by description.
    package private(set) var leftOut: [String: Int] = [:]
    /// The number of entries of which an import cannot tell all of what they are in the vault.
    package private(set) var unstated = 0

    /// - Parameter items: certificates and keys other than passkeys are omitted, and so are items of the device.
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
            entries.append(try ExportEntry(item))
            progress(Double(index) / Double(items.count))
        }
        for (parent, name, item) in attachments {
            if let place = places[parent], let content = try item.opened(nil) {
                entries[place].attachments.append((name, content))
                attached.append((place, item))
            } else {
                entries.append(try ExportEntry(item))
            }
        }
        let accounts = passkeys.isEmpty ? [:] : self.accounts
        for passkey in passkeys {
            let portable = try PortablePasskey(passkey)
            let parent = ExportedEntries.parent(of: passkey).flatMap { places[$0] }
            if let place = parent ?? accounts[[passkey.names.user, passkey.relyingParty]] {
                entries[place].passkeys.append(portable)
            } else {
                entries.append(ExportEntry(portable))
                lonePasskeys += 1
            }
        }
    }

    /// The first login of each account, by its user, and the hosts of its URLs and the domains above them.
    private var accounts: [[String]: Int] {
        var accounts: [[String]: Int] = [:]
        for (place, entry) in entries.enumerated() {
            for url in entry.urls {
                guard let host = WebAddress(url)?.host else { continue }
                let labels = host.split(separator: ".", omittingEmptySubsequences: false)
                for start in labels.indices {
                    let account = [entry.user, labels[start...].joined(separator: ".")]
                    if accounts[account] == nil { accounts[account] = place }
                }
            }
        }
        return accounts
    }

    static func parent(of passkey: Passkey) -> String? {
        guard var source = passkey.item.userAttributes[ItemNames.source]?[...] else { return nil }
        // A further passkey has a number behind it.
        if let mark = source.lastIndex(of: "~"), Int(source[mark...].dropFirst()) != nil { source = source[..<mark] }
        guard source.hasSuffix(ItemNames.passkeySuffix) else { return nil }
        return String(source.dropLast(ItemNames.passkeySuffix.count))
    }

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

    mutating func separateAttachments() throws(ImportError) {
        for (place, item) in attached {
            entries[place].attachments = []
            entries.append(try ExportEntry(item))
        }
        attached = []
    }

    mutating func settle(for format: String) {
        for place in entries.indices { entries[place].settle(for: format) }
    }

    package private(set) var missing = 0

    mutating func leaveOutWhole(_ what: String) {
        leaveOut(what)
        missing += 1
    }

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

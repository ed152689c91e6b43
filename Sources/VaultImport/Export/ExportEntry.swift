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

    /// Returns the entry's ID in a format, if it was imported from there.
    func id(in format: String) -> String? {
        source.flatMap { $0.hasPrefix(format + ":") ? String($0.dropFirst(format.count + 1)) : nil }
    }

    /// - Throws: the vault's error if a secret cannot be opened.
    init(_ item: Item) throws(VaultError) {
        let user = item.userAttributes
        let isInternet = item.itemClass == .internetPassword
        let service = user[ImportNames.originalKey].flatMap { isInternet ? nil : $0 } ?? item.service ?? ""
        let address = isInternet ? WebAddress(item).text : nil
        isPasskeyAlone = false
        id = item.record?.id ?? UUID()
        source = user[ImportNames.source]
        created = item.record?.created ?? Date()
        modified = item.record?.modified ?? Date()
        let label = item.label ?? ""
        title = !label.isEmpty ? label : isInternet ? item.server ?? "" : service
        self.user = item.account ?? ""
        if let url = user[ImportNames.url] ?? address { urls.append(url) }
        let further = user.keys.filter { $0.hasPrefix(ImportNames.url + ".") && ImportNames.isReserved($0) }
            .sorted { Int($0.dropFirst(4)) ?? 0 < Int($1.dropFirst(4)) ?? 0 }
        urls += further.compactMap { user[$0] }
        let group = item[.accessGroup]?.text ?? "default"
        folder = user[ImportNames.folder] ?? (group == "default" ? "" : group)
        kind = item[.itemDescription]?.text.flatMap { $0.isEmpty ? nil : $0 }
        password = try item.openedSecret()
        for name in item.fieldNames where name != ImportNames.fingerprint {
            guard let secret = try item.openedSecret(field: name) else { continue }
            if name == ImportNames.otp { otp = secret } else { fields.append((name, secret)) }
        }
        if let comment = item[.comment]?.text, !comment.isEmpty {
            notes = try? Secret(plain: comment)
        } else if let place = fields.firstIndex(where: { $0.name == "notes" }) {
            notes = fields.remove(at: place).secret
        }
        for (name, value) in user.sorted(by: { $0.key < $1.key }) {
            if name.hasPrefix(ImportNames.custom) {
                attributes.append((String(name.dropFirst(ImportNames.custom.count)), value))
            } else if !ImportNames.isReserved(name) {
                attributes.append((name, value))
            }
        }
        // The service is kept where the title differs, since programs search for it.
        if !isInternet, title != service, !attributes.contains(where: { $0 == ("service", service) }) {
            attributes.append(("service", service))
        }
        booleans = Set((user[ImportNames.booleans] ?? "").split(separator: "\n").map(String.init))
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
        folder = ""
        passkeys = [portable]
        isPasskeyAlone = true
    }

    /// Whether all secrets are UTF-8.
    var hasOnlyTexts: Bool { ([password, otp, notes] + fields.map(\.secret)).allSatisfy { $0?.isUTF8 ?? true } }

    /// Whether the entry is a key that the ssh door serves.
    var isServedKey: Bool { user.hasPrefix("SHA256:") && attributes.contains { $0.name == "ssh.public" } }
}

extension Item {
    /// Whether the item has a security domain other than one generated by an import.
    fileprivate var hasSecurityDomain: Bool {
        guard itemClass == .internetPassword else { return false }
        return !(userAttributes[ImportNames.originalKey] ?? self[.securityDomain]?.text ?? "").isEmpty
    }
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
    /// The numbers of omitted parts, by description.
    package private(set) var leftOut: [String: Int] = [:]

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
            leaveOut("security domains", item.hasSecurityDomain ? 1 : 0)
            leaveOut("content types", item.userAttributes[ImportNames.contentType] == nil ? 0 : 1)
            let source = item.userAttributes[ImportNames.source]
            if let (parent, name) = ExportedEntries.attachment(item, source) {
                attachments.append((parent, name, item))
                continue
            }
            if let source { places[source] = entries.count }
            entries.append(try outside { try ExportEntry(item) })
            progress(Double(index) / Double(items.count))
        }
        for (parent, name, item) in attachments {
            guard let content = try item.opened(nil) else { continue }
            if let place = places[parent] {
                entries[place].attachments.append((name, content))
            } else {
                var entry = try outside { try ExportEntry(item) }
                entry.password = nil
                entry.attachments = [(name, content)]
                entries.append(entry)
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
        guard var source = passkey.item.userAttributes[ImportNames.source]?[...] else { return nil }
        // A further passkey has a number behind it.
        if let mark = source.lastIndex(of: "~"), Int(source[mark...].dropFirst()) != nil { source = source[..<mark] }
        guard source.hasSuffix(ImportNames.passkeySuffix) else { return nil }
        return String(source.dropLast(ImportNames.passkeySuffix.count))
    }

    /// Returns the item's source and name as an attachment; `nil` if it is not an attachment.
    private static func attachment(_ item: Item, _ source: String?) -> (parent: String, name: String)? {
        let service = item.userAttributes[ImportNames.originalKey] ?? item.service
        guard let name = item.account, var source, service?.hasSuffix("/attachment") == true else { return nil }
        // A repeated name has a number behind it.
        if !source.hasSuffix("/" + name), let mark = source.lastIndex(of: "~") { source = String(source[..<mark]) }
        guard source.hasSuffix("/" + name) else { return nil }
        return (String(source.dropLast(name.count + 1)), name)
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

    mutating func leaveOut(_ what: String, _ count: Int = 1) {
        if count > 0 { leftOut[what, default: 0] += count }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// An item as it goes out, in the parts that other products know.
package struct ExportEntry: Sendable {
    /// The item's own.
    package let id: UUID
    /// `FORMAT:ID` of where it once came from.
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
    /// The attributes that are truths in the format that they came from.
    package var booleans: Set<String> = []
    package var attachments: [(name: String, content: Secret)] = []
    package let created: Date
    package let modified: Date

    /// Its ID in a format that it came from.
    func id(in format: String) -> String? {
        source.flatMap { $0.hasPrefix(format + ":") ? String($0.dropFirst(format.count + 1)) : nil }
    }

    /// - Throws: what the vault throws when it opens the secrets.
    init(_ item: Item) throws(VaultError) {
        let user = item.userAttributes
        let isInternet = item.itemClass == .internetPassword
        let service = user[ImportNames.originalKey].flatMap { isInternet ? nil : $0 } ?? item.service ?? ""
        let address = isInternet ? WebAddress(item).text : nil
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
            notes = Secret.ofText(comment)
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
        // A name that programs look for, where the title says something else.
        if !isInternet, title != service, !attributes.contains(where: { $0 == ("service", service) }) {
            attributes.append(("service", service))
        }
        booleans = Set((user[ImportNames.booleans] ?? "").split(separator: "\n").map(String.init))
    }
}

extension Item {
    /// Whether it has one that an import has not made up.
    fileprivate var hasSecurityDomain: Bool {
        guard itemClass == .internetPassword else { return false }
        return !(userAttributes[ImportNames.originalKey] ?? self[.securityDomain]?.text ?? "").isEmpty
    }
}

extension Secret {
    /// Text that was an attribute. Nil: there is no memory for it.
    fileprivate static func ofText(_ text: String) -> Secret? { try? Secret(plain: text) }

    /// Whether every reader of text takes it: UTF-8 without control characters but tabulators and line ends.
    var isPlainText: Bool {
        withBytes { bytes in
            guard (try? UTF8Span(validating: bytes)) != nil else { return false }
            return bytes.indices.allSatisfy { index in
                // U+FFFE and U+FFFF are no characters, and no XML has them.
                let isNone = bytes[index] == 0xef && bytes[index + 1] == 0xbf && bytes[index + 2] >= 0xbe
                return bytes[index] >= 0x20 && bytes[index] != 0x7f && !isNone || [9, 10, 13].contains(bytes[index])
            }
        }
    }
}

/// What goes out, and what of it a format has no room for.
package struct ExportedEntries: Sendable {
    package private(set) var entries: [ExportEntry] = []
    /// Parts that were left out, by what they are.
    package private(set) var leftOut: [String: Int] = [:]

    /// - Parameters:
    ///   - items: what is no password is left out; what belongs to the device or to services stays.
    ///   - progress: takes how much is opened, from 0 to 1.
    package init(_ items: [Item], progress: (Double) -> Void = { _ in }) throws(ImportError) {
        let staying: Set<String> = ["device-identifiers", "systemd"]
        var attachments: [(parent: String, name: String, item: Item)] = []
        var places: [String: Int] = [:]
        for (index, item) in items.enumerated() {
            guard !staying.contains(item[.accessGroup]?.text ?? "") else { continue }
            if let what = ExportedEntries.unsayable(item.itemClass) {
                leaveOut(what)
                continue
            }
            leaveOut("security domains", item.hasSecurityDomain ? 1 : 0)
            leaveOut("content types", item.userAttributes[ImportNames.contentType] == nil ? 0 : 1)
            let source = item.userAttributes[ImportNames.source]
            if let (parent, name) = ExportedEntries.attachment(item, source) {
                attachments.append((parent, name, item))
                continue
            }
            do throws(VaultError) {
                if let source { places[source] = entries.count }
                entries.append(try ExportEntry(item))
            } catch { throw .outside(error) }
            progress(Double(index) / Double(items.count))
        }
        for (parent, name, item) in attachments {
            do throws(VaultError) {
                guard let content = try item.openedSecret() else { continue }
                if let place = places[parent] {
                    entries[place].attachments.append((name, content))
                } else {
                    var entry = try ExportEntry(item)
                    entry.password = nil
                    entry.attachments = [(name, content)]
                    entries.append(entry)
                }
            } catch { throw .outside(error) }
        }
    }

    /// The name of the items of a class, if no format has them.
    private static func unsayable(_ itemClass: ItemClass) -> String? {
        switch itemClass {
        case .genericPassword, .internetPassword: nil
        case .certificate: "certificates"
        case .key: "keys"
        }
    }

    /// Whose attachment an item is, and what it is called there. Nil: it is none.
    private static func attachment(_ item: Item, _ source: String?) -> (parent: String, name: String)? {
        let service = item.userAttributes[ImportNames.originalKey] ?? item.service
        guard let name = item.account, var source, service?.hasSuffix("/attachment") == true else { return nil }
        // One that came twice has a number behind it.
        if !source.hasSuffix("/" + name), let mark = source.lastIndex(of: "~") { source = String(source[..<mark]) }
        guard source.hasSuffix("/" + name) else { return nil }
        return (String(source.dropLast(name.count + 1)), name)
    }

    /// How many entries were left out whole.
    package private(set) var missing = 0

    mutating func leaveOutWhole(_ what: String) {
        leaveOut(what)
        missing += 1
    }

    mutating func leaveOut(_ what: String, _ count: Int = 1) {
        if count > 0 { leftOut[what, default: 0] += count }
    }
}

// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import VaultCrypto
import VaultFormat

@testable import Vault
@testable import VaultImport

/// A way out of a vault and back.
enum Road: String, CaseIterable {
    case kdbx, bitwarden, cxf, pass
    case vault, apple, chrome, firefox, lastpass
    case onePassword = "1password"

    /// Whether the format can carry every part by some means.
    var isWhole: Bool { [.kdbx, .bitwarden, .cxf, .pass].contains(self) }

    /// Whether the format can carry an item: a line of pass has one colon in front of a text in one line.
    func canCarry(_ item: Item) throws -> Bool {
        guard self == .pass else { return true }
        func isLine(_ secret: Secret?) -> Bool {
            guard let secret, secret.isPlainText else { return secret == nil }
            let text = secret.text
            return !text.contains { $0.isNewline } && text.first != " " && text.last != " "
        }
        let fields = try item.fieldNames.filter { $0 != ItemNames.notes }.map { try item.openedSecret(field: $0) }
        let attributes = item.userAttributes.filter { !$0.key.hasPrefix(ItemNames.prefix) }
        return try isLine(item.openedSecret()) && fields.allSatisfy(isLine)
            && attributes.allSatisfy { try isLine(Secret(text: $0.value)) && !$0.key.contains(":") }
    }

    /// Exports items and reads the export.
    func carried(_ items: [Item]) throws -> (logins: ImportedLogins, source: String, exported: ExportedEntries) {
        var entries = try ExportedEntries(items)
        let logins: ImportedLogins
        switch self {
        case .kdbx:
            let (text, reader) = (try KeePassExport.text(&entries), try KeePassXML())
            try reader.parse { take in try text.withBytes { try take($0) } }
            logins = try reader.unpack { _ throws(ImportError) in (nil, "cannot be unpacked") }
        case .bitwarden:
            logins = try Bitwarden.logins(Document(BitwardenExport.text(&entries))) { throw VaultError.locked }
        case .cxf: logins = try CXF.logins(Document(CXFExport.text(&entries)))
        case .pass: logins = try passed(&entries)
        default:
            let layout = CSVLayout.named(rawValue) ?? CSVLayout.all[0]
            let read = try CSVLogins.logins(Document(CSVExport.text(&entries, for: layout)))
            return (read, read.product ?? "", entries)
        }
        return (logins, rawValue, entries)
    }

    private func passed(_ entries: inout ExportedEntries) throws -> ImportedLogins {
        var imported = ImportedLogins()
        let world = ImportWorld.made(run: { _, input in (0, input.map { $0.exposed } ?? []) })
        try PassExport.write(&entries, for: "k", world) { name, bytes in
            guard name.hasSuffix(".gpg") else { return }
            let path = String(name.dropLast(4))
            imported.logins.append(try PassStore.login(bytes, path: path, place: path))
        }
        return imported
    }
}

/// Vaults with items of every kind, made of a seed.
struct MovedVault {
    private let random: SeededRandom

    init(seed: UInt64) { random = SeededRandom("moved \(seed)") }

    static let kinds = 22

    private func text() -> String {
        let hostile = [
            "plain", "a/b", "x?y=1#z", "twin~2", "two\nlines", "tab\there", "\u{202e}rtl", "ümläut ẞ", "100%25",
            "' \" < & >",
            "a;b,c", "=1+1", "[x]", "KP2A_URL", "url", "folder", " blank ", "-dash", "e\u{301}", "\u{200f}",
            "vault.service",
        ]
        return hostile[random.number(in: 0...hostile.count - 1)]
            + String(random.number(in: 0...1_000_000))
    }

    private func secret() throws -> Secret { try Secret(text: "s" + text()) }

    /// Returns an item of a kind.
    func item(_ kind: Int) throws -> Item {
        let (name, account) = (text(), text())
        let host = "h\(random.number(in: 0...1_000_000)).example.com"
        let date = Date(timeIntervalSince1970: Double(random.number(in: 1_000_000_000...1_700_000_000)))
        var item = Item(.genericPassword(service: name, account: account), secret: try secret())
        item[.creationDate] = .date(date)
        item[.modificationDate] = .date(date.addingTimeInterval(60))
        func internet(_ change: (inout [Attribute: AttributeValue]) -> Void = { _ in }) throws -> Item {
            var attributes: [Attribute: AttributeValue] = [
                .server: .string(host), .account: .string(account), .protocolName: "htps",
            ]
            change(&attributes)
            return Item(ItemKey(.internetPassword, attributes), secret: try Secret(text: "p" + account))
        }
        switch kind {
        case 0: break
        case 1: item[.label] = .string(text())
        case 2: item = try internet()
        case 3:
            item = try internet {
                $0[.port] = 8443
                $0[.path] = .string("/a/b?c=d e")
            }
        case 4: item = try internet { $0[.server] = .string("intranet") }
        case 5:
            item = try internet { $0[.securityDomain] = "EXAMPLE" }
            item[.label] = .string(text())
        case 6:
            item.fields = ["pin": try secret(), "second pin": try secret()]
            item.userAttributes = ["team": text(), "größe": text()]
        case 7:
            item = try internet()
            item.fields[ItemNames.otp] = try Secret(text: "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP")
        case 8: item[.comment] = .string("notes\nof two lines")
        case 9: item.fields[ItemNames.notes] = try Secret(text: "secret notes\nof \(text())")
        case 10: item.userAttributes = [ItemNames.tags: "one\ntwo", ItemNames.folder: "Work/Mail"]
        case 11:
            item = try internet()
            item.userAttributes = [ItemNames.furtherURL(2): "https://two.example/", "url.match": "host"]
        case 12:
            item.userAttributes = [
                ProgramAttributes.schema: "org.example.App", "service": name, "username": account, "folder": "given",
            ]
            item.userAttributes[ItemNames.programAttributes] = ItemNames.lines(item.userAttributes.keys)
            item.userAttributes[ItemNames.made] = "program"
        case 13: item[.accessControl] = .data(AccessControl(requiringPresence: .whenUnlocked).encoded)
        case 14: item[.accessible] = .string(Accessibility.whenUnlockedThisDeviceOnly.rawValue)
        case 15: item.secret = try Secret(bytes: [0, 255, 128, 10, 13] + Array(text().utf8))
        case 16: item[.label] = .string(String(repeating: "ä", count: 2000) + text())
        case 17:
            item[.accessGroup] = "work"
            item[.synchronizable] = 1
            item.userAttributes[ItemNames.made] = "command"
        case 18: item[.accessible] = .string(Accessibility.afterFirstUnlock.rawValue)
        case 19: item = Item(.genericPassword(service: host, account: account), secret: try secret())
        case 20:
            item[.accessGroup] = "org.example.Flatpak"
            item.userAttributes[ItemNames.contentType] = "text/markdown"
        default:
            item[.itemDescription] = "membership"
            item.userAttributes = ["custom.folder": "f", "custom.vault.group": "systemd", "vault.browser": "abc"]
        }
        return item
    }
}

/// The parts of an item that a format can carry, and a fresh vault can have.
struct MovedItem: Equatable, CustomStringConvertible {
    let parts: [String: String]

    init(_ parts: [String: String]) { self.parts = parts }

    init(_ item: Item) throws {
        var parts: [String: String] = [
            "class": item.itemClass.rawValue, "secret": "\(try item.openedSecret()?.exposed ?? [])",
        ]
        let attributes: [Attribute] = [
            .service, .account, .server, .protocolName, .port, .path, .securityDomain, .label, .comment,
            .itemDescription, .accessible, .accessControl, .accessGroup, .synchronizable, .creationDate,
            .modificationDate,
        ]
        for attribute in attributes where attribute.belongs(to: item.itemClass) {
            guard let value = item[attribute], value != .string(""), value != .number(0) else { continue }
            if case .date(let date) = value {
                parts["\(attribute)"] = "\(Int(date.timeIntervalSince1970))"
            } else {
                parts["\(attribute)"] = "\(value)"
            }
        }
        let own = [ItemNames.source, ItemNames.booleans]
        for (name, value) in item.userAttributes where !own.contains(name) { parts["attribute \(name)"] = value }
        for name in item.fieldNames where name != ItemNames.fingerprint {
            parts["field \(name)"] = "\(try item.openedSecret(field: name)?.exposed ?? [])"
        }
        self.parts = parts
    }

    func differences(from other: MovedItem) -> [String] {
        Set(parts.keys).union(other.parts.keys).sorted().filter { parts[$0] != other.parts[$0] }
            .map { "\($0): \(parts[$0]?.prefix(80) ?? "none") → \(other.parts[$0]?.prefix(80) ?? "none")" }
    }

    var description: String { "\(parts)" }
}

// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

extension Login {
    /// A longer text is no attribute that anybody looks for: it goes into a field.
    private static let attributeLimit = 4096
    /// What all the attributes may have together; the vault takes 64 KiB, encoded.
    private static let attributesLimit = 48 << 10

    /// The item of the entry, and one for each attachment.
    ///
    /// - Parameter format: as ``ImportNames/source`` begins with it.
    /// - Throws: `.tooLarge` for an entry whose secrets have more than 16 MiB together, which cannot come at all.
    func items(of format: String) throws(ImportError) -> [Item] {
        let source = "\(format):\(id)"
        var names = UniqueNames()
        var user: [String: String] = [ImportNames.source: source]
        var secrets: [String: Secret] = [:]
        var given: [(name: String, value: String)] = []
        let key = self.key
        if let first = urls.first, key.itemClass == .genericPassword || WebAddress(first)?.text != first {
            given.append((ImportNames.url, first))
        }
        for (index, url) in urls.dropFirst().enumerated() {
            given.append((ImportNames.furtherURL(index + 2), url))
        }
        if !folder.isEmpty { given.append((ImportNames.folder, folder)) }
        for (name, _) in given { _ = names.taking(name) }
        for (name, value) in attributes {
            let isTaken = !keepsAttributeNames && ImportNames.isReserved(name)
            given.append((names.taking(isTaken ? ImportNames.custom + name : name), value))
        }
        let isLarge =
            given.reduce(notes.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 16 }
            > Login.attributesLimit
        for (name, value) in given {
            if value.utf8.count > (isLarge ? 255 : Login.attributeLimit) {
                secrets[name] = try Secret(plain: value)
            } else {
                user[name] = value
            }
        }
        var attributes: [Attribute: AttributeValue] = [.label: .string(title)]
        if isLarge || notes.utf8.count > Login.attributeLimit {
            secrets[names.taking("notes")] = try Secret(plain: notes)
        } else if !notes.isEmpty {
            attributes[.comment] = .string(notes)
        }
        attributes[.itemDescription] = kind.map(AttributeValue.string)
        for (name, secret) in fields { secrets[names.taking(name)] = secret }
        guard secrets.values.reduce(password?.count ?? 0, { $0 + $1.count }) <= Layout.valueLimit - 64 else {
            throw .tooLarge(place)
        }
        let main = Item(key, attributes: attributes, userAttributes: user, secret: password, fields: secrets)
        let service = main.server ?? main.service ?? ""
        return [main]
            + attachments.map { attachment in
                Item(
                    .genericPassword(service: service + "/attachment", account: attachment.name),
                    attributes: [.label: .string(attachment.name)],
                    userAttributes: [ImportNames.source: "\(source)/\(attachment.name)"], secret: attachment.content)
            }
    }

    private var key: ItemKey {
        switch address {
        case .service(let service): return .genericPassword(service: service, account: user)
        case .internet(let attributes):
            return ItemKey(.internetPassword, attributes.merging([.account: .string(user)]) { first, _ in first })
        case .ofURL:
            if let address = urls.first.flatMap({ WebAddress($0) }) {
                return ItemKey(
                    .internetPassword, address.attributes.merging([.account: .string(user)]) { first, _ in first })
            }
            let service = [title, urls.first ?? "", user].first { !$0.isEmpty } ?? "login"
            return .genericPassword(service: service, account: user)
        }
    }
}

/// Gives each field and attribute a name that an item can have and that no other of it has.
private struct UniqueNames {
    private var taken: Set<String> = [ImportNames.fingerprint, ImportNames.source, ImportNames.originalKey]

    mutating func taking(_ name: String) -> String {
        var text = "".unicodeScalars
        for scalar in name.unicodeScalars {
            text.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        while String(text).utf8.count > 240 { text.removeLast() }
        if text.isEmpty { text = "field".unicodeScalars }
        var unique = String(text)
        var number = 2
        while !taken.insert(unique).inserted {
            unique = "\(String(text)) \(number)"
            number += 1
        }
        return unique
    }
}

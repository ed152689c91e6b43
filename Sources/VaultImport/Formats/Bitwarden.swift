// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
package import VaultCrypto

package struct SSHKeyItem: Sendable {
    let service: String
    let fingerprint: String
    let attributes: [(name: String, value: String)]

    package init(service: String, fingerprint: String, attributes: [(name: String, value: String)]) {
        (self.service, self.fingerprint, self.attributes) = (service, fingerprint, attributes)
    }

    /// Reads a private key file; returns `nil` if the ssh agent cannot use it.
    package typealias Reading = (_ file: Secret, _ isConfirmed: Bool) -> SSHKeyItem?
}

/// Bitwarden's JSON export: plain, or protected by a passphrase of its own.
package enum Bitwarden {
    /// - Parameter sshKey: reads the ssh keys of the export; a key that it rejects is imported as fields.
    package static func logins(
        _ document: Document, sshKey: SSHKeyItem.Reading = { _, _ in nil }, passphrase: () throws -> Secret
    ) throws(ImportError) -> ImportedLogins {
        let root = try JSONValue(ofExport: document)
        guard root["encrypted"]?.boolean == true else { return try logins(root, sshKey) }
        guard root["passwordProtected"]?.boolean == true else {
            throw .otherFormat(
                "the export is encrypted for its account, and only Bitwarden reads it",
                hint: "export it as JSON, or as JSON with a password")
        }
        let opened = try BitwardenEncryption(root).opened(try outside { try passphrase() })
        var imported = try logins(JSONValue(Document(opened)), sshKey)
        imported.wereEncrypted = true
        return imported
    }

    private static func logins(_ root: JSONValue, _ sshKey: SSHKeyItem.Reading) throws(ImportError) -> ImportedLogins {
        guard let items = root["items"], items.isArray else {
            throw .otherFormat("this is no JSON of Bitwarden's: it has no items", hint: nil)
        }
        var folders: [String: String] = [:]
        for folder in (root["folders"] ?? root["collections"])?.elements ?? [] {
            if let id = folder["id"]?.text { folders[id] = folder["name"]?.text }
        }
        var imported = ImportedLogins()
        for (index, item) in items.elements.enumerated() {
            let place = "entry \(index + 1)"
            guard item.isObject, let type = item["type"]?.integer else {
                imported.skip("\(place), line \(item.line)", "an entry without a type")
                continue
            }
            var login = Login(id: item["id"]?.text, place: place, position: index + 1)
            login.title = item["name"]?.text ?? ""
            let folder = (item["folderId"] ?? item["collectionIds"]?.elements.first)?.text
            login.folder = folder.flatMap { folders[$0] } ?? ""
            (login.created, login.modified) = (item["creationDate"]?.date, item["revisionDate"]?.date)
            guard item["deletedDate"] == nil else {
                imported.skip(place, "it is in the bin")
                continue
            }
            switch type {
            case 1: try read(item, &login)
            case 2:
                login.kind = "secure note"
                login.address = .service(login.title.isEmpty ? "note" : login.title)
                login.password = try item["notes"]?.secret()
            case 3: try readMembers(item, "card", &login)
            case 4: try readMembers(item, "identity", &login)
            case 5: try readKey(item, sshKey, &login)
            default:
                imported.skip(place, "a kind that is not known: \(type)")
                continue
            }
            if type != 2 { login.notes = item["notes"]?.text ?? "" }
            try readFields(item, &login)
            // With `reprompt`, Bitwarden asks for its password again.
            for name in ["favorite", "reprompt"] where item[name]?.boolean == true || item[name]?.integer ?? 0 > 0 {
                login.addAttribute(name, "true")
            }
            imported.logins.append(login)
        }
        return imported
    }

    static let matches = ["domain", "host", "start", "exact", "regex", "never"]

    private static func read(_ item: JSONValue, _ login: inout Login) throws(ImportError) {
        try login.addHistory(item["passwordHistory"]?.elements ?? [], password: "password") {
            $0["lastUsedDate"]?.date
        }
        guard let parts = item["login"] else { return }
        for uri in parts["uris"]?.elements ?? [] {
            guard let text = uri["uri"]?.text, !text.isEmpty else { continue }
            login.urls.append(text)
            if let match = uri["match"]?.integer, matches.indices.contains(match) {
                login.addAttribute(ItemNames.match(of: login.urls.count), matches[match])
            }
        }
        login.user = parts["username"]?.text ?? ""
        login.password = try parts["password"]?.secret()
        login.addField(ItemNames.otp, try parts["totp"]?.secret())
        try BitwardenPasskey.read(parts["fido2Credentials"]?.elements ?? [], &login)
    }

    /// Reads an entry with several secrets other than a password: one field each, by Bitwarden's names.
    private static func readMembers(_ item: JSONValue, _ name: String, _ login: inout Login) throws(ImportError) {
        let kind = name == "sshKey" ? "ssh key" : name
        login.kind = kind
        login.address = .service(login.title.isEmpty ? kind : login.title)
        for (name, value) in item[name]?.members ?? [] { login.addField(name, try value.secretOrSource()) }
    }

    /// Makes an item like that of `vault ssh-add`, if the key is usable.
    private static func readKey(
        _ item: JSONValue, _ sshKey: SSHKeyItem.Reading, _ login: inout Login
    ) throws(ImportError) {
        let isConfirmed = item["reprompt"]?.integer ?? 0 > 0
        guard let file = try item["sshKey"]?["privateKey"]?.secret(), let key = sshKey(file, isConfirmed) else {
            return try readMembers(item, "sshKey", &login)
        }
        login.kind = "ssh key"
        login.address = .service(key.service)
        (login.user, login.password) = (key.fingerprint, file)
        login.attributes += key.attributes
    }

    private static func readFields(_ item: JSONValue, _ login: inout Login) throws(ImportError) {
        for field in item["fields"]?.elements ?? [] {
            let name = field["name"]?.text ?? "field"
            switch field["type"]?.integer {
            case 1: login.addField(name, try field["value"]?.secret())
            case 2:
                guard let value = field["value"]?.text, !value.isEmpty else { break }
                login.booleans.insert(name)
                login.addAttribute(name, value)
            // A link to another part of the entry, given by number.
            case 3: login.addAttribute(name, field["linkedId"]?.text.map { "linked:\($0)" })
            default: login.addAttribute(name, field["value"]?.text)
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// Bitwarden's JSON export: plain, or protected by a passphrase of its own.
package enum Bitwarden {
    /// - Parameter passphrase: asks for that of the file, if it has one.
    package static func logins(
        _ document: Document, passphrase: () throws -> Secret
    ) throws(ImportError) -> ImportedLogins {
        let root = try JSONValue(document)
        guard root["encrypted"]?.boolean == true else { return try logins(root) }
        guard root["passwordProtected"]?.boolean == true else {
            throw .otherFormat(
                "the export is encrypted for its account, and only Bitwarden reads it",
                hint: "export it as JSON, or as JSON with a password")
        }
        let opened = try BitwardenEncryption(root).opened(try outside { try passphrase() })
        var imported = try logins(JSONValue(Document(opened)))
        imported.wereEncrypted = true
        return imported
    }

    private static func logins(_ root: JSONValue) throws(ImportError) -> ImportedLogins {
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
                throw .malformed("\(place), line \(item.line)", "an entry without a type")
            }
            var login = Login(id: item["id"]?.text ?? String(index + 1), place: place)
            login.title = item["name"]?.text ?? ""
            login.folder =
                (item["folderId"] ?? item["collectionIds"]?.elements.first)?.text
                .flatMap { folders[$0] } ?? ""
            login.olderVersions = item["passwordHistory"]?.elements.count ?? 0
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
            case 3: try keep(item, "card", &login)
            case 4: try keep(item, "identity", &login)
            case 5: try keep(item, "sshKey", &login)
            default:
                imported.skip(place, "a kind that is not known: \(type)")
                continue
            }
            if type != 2 { login.notes = item["notes"]?.text ?? "" }
            try readFields(item, &login)
            if item["favorite"]?.boolean == true { login.addAttribute("favorite", "true") }
            imported.logins.append(login)
        }
        return imported
    }

    private static func read(_ item: JSONValue, _ login: inout Login) throws(ImportError) {
        guard let parts = item["login"] else { return }
        login.urls = parts["uris"]?.elements.compactMap { $0["uri"]?.text }.filter { !$0.isEmpty } ?? []
        login.user = parts["username"]?.text ?? ""
        login.password = try parts["password"]?.secret()
        login.addField(ImportNames.otp, try parts["totp"]?.secret())
        if let keys = parts["fido2Credentials"], !keys.elements.isEmpty { login.addField("passkey", try keys.source()) }
    }

    /// What has no place in an item of its own stays as it came.
    private static func keep(_ item: JSONValue, _ kind: String, _ login: inout Login) throws(ImportError) {
        login.kind = kind == "sshKey" ? "ssh key" : kind
        login.address = .service(login.title.isEmpty ? kind : login.title)
        login.password = try item[kind]?.source()
    }

    private static func readFields(_ item: JSONValue, _ login: inout Login) throws(ImportError) {
        for field in item["fields"]?.elements ?? [] {
            let name = field["name"]?.text ?? "field"
            switch field["type"]?.integer {
            case 1: login.addField(name, try field["value"]?.secret())
            // A link to another part of the entry, which is a number.
            case 3: login.addAttribute(name, field["linkedId"]?.text.map { "linked:\($0)" })
            default: login.addAttribute(name, field["value"]?.text)
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// 1Password's 1PUX: a zip archive with `export.data`, which is JSON, and the attached files.
package struct OnePassword {
    private static let dataLimit = 256 << 20

    private let file: String
    private let world: ImportWorld

    package init(_ file: String, _ world: ImportWorld) { (self.file, self.world) = (file, world) }

    package func logins() throws(ImportError) -> ImportedLogins {
        guard let data = try member("export.data", limit: Self.dataLimit) else {
            throw .otherFormat("this is no 1PUX archive: it has no export.data", hint: nil)
        }
        return try OnePassword.logins(Document(data)) { name throws(ImportError) in
            do throws(ImportError) {
                guard let content = try member("files/" + name, limit: Layout.valueLimit) else { return .absent }
                return .content(content)
            } catch {
                switch error {
                case .tooLarge: return .tooLarge
                case .program: return .damaged
                default: throw error
                }
            }
        }
    }

    package enum Attachment {
        case content(Secret)
        case absent, tooLarge, damaged
    }

    private func member(_ name: String, limit: Int) throws(ImportError) -> Secret? {
        // Escapes the characters that unzip treats as a pattern.
        let escaped = name.map { "[]*?\\".contains($0) ? "\\\($0)" : String($0) }.joined()
        let path = file.hasPrefix("-") ? "./" + file : file
        let (bytes, ended) = try world.output(
            of: ["unzip", "-p", path, escaped], limit: limit, package: "unzip",
            place: name == "export.data" ? name : nil)
        switch ended.status {
        case 0: return bytes
        // No match.
        case 11: return nil
        default: throw .program("unzip", nil, hint: "see what 'unzip -t' says of the file")
        }
    }

    /// - Parameter attachment: returns a file of the archive by its name.
    package static func logins(
        _ document: Document, attachment: (String) throws(ImportError) -> Attachment
    ) throws(ImportError) -> ImportedLogins {
        let root = try JSONValue(document)
        guard let accounts = root["accounts"], accounts.isArray else {
            throw .otherFormat("this is no export of 1Password's: it has no accounts", hint: nil)
        }
        var imported = ImportedLogins()
        var number = 0
        for vault in accounts.elements.flatMap({ $0["vaults"]?.elements ?? [] }) {
            let folder = vault["attrs"]?["name"]?.text ?? ""
            for entry in vault["items"]?.elements ?? [] {
                number += 1
                // Older exports nest the item one level deeper.
                let item = entry["item"] ?? entry
                let place = "entry \(number)"
                guard item.isObject, let overview = item["overview"] else {
                    imported.skip("\(place), line \(entry.line)", "an entry without an overview")
                    continue
                }
                var login = Login(id: item["uuid"]?.text, place: place, position: number)
                login.folder = folder
                try read(item, overview, &login)
                try readAttachments(item, &login, &imported, attachment)
                imported.logins.append(login)
            }
        }
        return imported
    }

    private static let kinds = [
        "002": "card", "003": "secure note", "004": "identity", "006": "document", "100": "software license",
        "101": "bank account", "102": "database", "103": "driver license", "104": "outdoor license",
        "105": "membership", "106": "passport", "107": "reward program", "108": "social security number",
        "109": "wireless router", "110": "server", "111": "email account", "112": "api credential",
        "113": "medical record", "114": "ssh key", "115": "crypto wallet",
    ]

    private static let pageless: Set<String> = ["002", "004", "101", "103", "104", "106", "108", "113", "114", "115"]

    private static func read(_ item: JSONValue, _ overview: JSONValue, _ login: inout Login) throws(ImportError) {
        let details = item["details"]
        let category = item["categoryUuid"]?.text ?? "001"
        login.title = overview["title"]?.text ?? ""
        var urls = [overview["url"]?.text].compactMap { $0 }
        urls += overview["urls"]?.elements.compactMap { $0["url"]?.text } ?? []
        for url in urls where !url.isEmpty && !login.urls.contains(url) { login.urls.append(url) }
        let tags = overview["tags"]?.elements.compactMap(\.text) ?? []
        login.addTags(tags, earlier: tags.joined(separator: ","))
        if item["state"]?.text == "archived" { login.addAttribute("archived", "true") }
        if let favorite = item["favIndex"]?.integer, favorite > 0 { login.addAttribute("favorite", "true") }
        (login.created, login.modified) = (item["createdAt"]?.time, item["updatedAt"]?.time)
        try login.addHistory(details?["passwordHistory"]?.elements ?? [], password: "value") { $0["time"]?.time }
        login.kind = kinds[category]
        if category == "003" {
            login.address = .service(login.title.isEmpty ? "note" : login.title)
            login.password = try details?["notesPlain"]?.secret()
        } else {
            login.notes = details?["notesPlain"]?.text ?? ""
        }
        if pageless.contains(category) {
            login.address = .service(login.title.isEmpty ? login.kind ?? "item" : login.title)
        }
        for field in details?["loginFields"]?.elements ?? [] {
            switch field["designation"]?.text {
            case "username": login.user = field["value"]?.text ?? ""
            case "password": login.password = try field["value"]?.secret()
            // Other inputs of the page's form may be secret.
            default: login.addField(field["name"]?.text ?? "field", try field["value"]?.secret())
            }
        }
        if login.password == nil { login.password = try details?["password"]?.secret() }
        for section in details?["sections"]?.elements ?? [] {
            for field in section["fields"]?.elements ?? [] { try read(field, &login) }
        }
    }

    private static func read(_ field: JSONValue, _ login: inout Login) throws(ImportError) {
        let title = field["title"]?.text ?? field["id"]?.text ?? "field"
        guard let (kind, value) = field["value"]?.members.first else { return }
        switch kind {
        case "totp": login.addField(ItemNames.otp, try value.secret())
        case "concealed":
            // The password of an item that is not a login.
            let isPassword = field["id"]?.text == "password" && login.password == nil
            if isPassword { login.password = try value.secret() } else { login.addField(title, try value.secret()) }
        case "string" where field["id"]?.text == "username" && login.user.isEmpty: login.user = value.text ?? ""
        case "string", "url", "phone", "date", "monthYear", "menu", "gender", "creditCardType":
            login.addAttribute(title, value.text)
        case "email": login.addAttribute(title, value.text ?? value["email_address"]?.text)
        case "file": break
        // Other values are treated as secrets, such as the number of a card; an address has several parts.
        case _ where value.isObject:
            for (name, part) in value.members where !part.isObject {
                login.addField("\(title) \(name)", try part.secret())
            }
        default: login.addField(title, try value.secret())
        }
    }

    private static func readAttachments(
        _ item: JSONValue, _ login: inout Login, _ imported: inout ImportedLogins,
        _ attachment: (String) throws(ImportError) -> Attachment
    ) throws(ImportError) {
        let fields = item["details"]?["sections"]?.elements.flatMap { $0["fields"]?.elements ?? [] } ?? []
        let files = ([item["details"]?["documentAttributes"]] + fields.map { $0["value"]?["file"] }).compactMap { $0 }
        for file in files {
            guard let name = file["fileName"]?.text, let id = file["documentId"]?.text else { continue }
            switch try attachment("\(id)__\(name)") {
            case .content(let content):
                let isTaken = login.attachments.contains { $0.name == name }
                login.attachments.append(Login.Attachment(name: isTaken ? "\(id) \(name)" : name, content: content))
            case .absent: imported.skip(login.place, "the attachment '\(name)', which the archive has not")
            case .tooLarge: imported.skip(login.place, "the attachment '\(name)' has more than 16 MiB")
            case .damaged: imported.skip(login.place, "the attachment '\(name)', which unzip does not give")
            }
        }
    }
}

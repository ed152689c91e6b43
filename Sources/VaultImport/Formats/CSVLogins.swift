// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// Logins in comma-separated values.
package enum CSVLogins {
    /// - Throws: `.malformed` with the line of an unclosed quote.
    package static func logins(_ document: Document) throws(ImportError) -> ImportedLogins {
        var reader = CSVReader(document)
        guard let header = try reader.next() else { throw .malformed(nil, "the file is empty") }
        let names = header.cells.map { reader.text($0) }
        guard let layout = CSVLayout.of(names) else {
            throw .otherFormat(
                "the header in line \(header.line) is no product's that is known",
                hint: "one line with at least: name,url,username,password")
        }
        // An unknown column may be a secret.
        let columns = names.map { layout.meaning($0) ?? .field($0) }
        var imported = ImportedLogins()
        imported.product = layout.product
        for name in names where layout.meaning(name) == nil {
            imported.remarks.append("the column '\(ImportedLogins.bounded(name))' is not known: its values are fields")
        }
        while let row = try reader.next() {
            guard row.cells.count == names.count else {
                imported.skip("line \(row.line)", "it has \(row.cells.count) fields, and the header has \(names.count)")
                continue
            }
            var login = Login(id: "", place: "line \(row.line)")
            for (column, cell) in zip(columns, row.cells) { try read(cell, column, of: layout.product, reader, &login) }
            if login.kind == "folder" {
                imported.looks["folders, which are imported with their entries", default: 0] += 1
                continue
            }
            if layout.product == "lastpass", login.urls.first == "http://sn" {
                login.urls = []
                login.kind = "note"
            }
            try settle(&login)
            if login.id.isEmpty {
                let (page, user, title) = (login.urls.first ?? login.title, login.user, login.title)
                // Further rows of a page and user had their title in it, and those of one title a number, too.
                login.earlierIDs = {
                    let id = "\(page)\n\(user)\n\(title)"
                    return (1...8).map { Login.digest($0 == 1 ? id : "\(id)\n\($0)") }
                }
            }
            imported.logins.append(login)
        }
        return imported
    }

    private static func read(
        _ cell: CSVReader.Cell, _ column: CSVLayout.Column, of product: String, _ reader: CSVReader,
        _ login: inout Login
    ) throws(ImportError) {
        switch column {
        case .title: login.title = reader.text(cell)
        case .url:
            let text = reader.text(cell)
            if !text.isEmpty { login.urls.insert(text, at: 0) }
        case .urls: for url in urls(reader.text(cell)) where !login.urls.contains(url) { login.urls.append(url) }
        case .user:
            let text = reader.text(cell)
            // The other column had the address.
            if !text.isEmpty, !login.user.isEmpty { login.addAttribute("email", login.user) }
            if !text.isEmpty { login.user = text }
        case .email:
            if login.user.isEmpty {
                login.user = reader.text(cell)
            } else {
                login.addAttribute("email", reader.text(cell))
            }
        case .kind:
            let text = reader.text(cell)
            if !logins.contains(text) { login.kind = text }
        case .custom: try readCustom(reader.secret(cell), &login)
        case .password: login.password = try reader.secret(cell)
        case .notes: login.notes = reader.text(cell)
        case .otp: login.addField(ItemNames.otp, try reader.secret(cell))
        case .folder:
            // LastPass separates folders by backslashes.
            let folder = reader.text(cell)
            login.folder = product == "lastpass" ? folder.replacing("\\", with: "/") : folder
        case .id: login.id = reader.text(cell)
        case .created: login.created = date(reader.text(cell))
        case .modified: login.modified = date(reader.text(cell))
        case .attribute("reprompt"): if reader.text(cell) == "1" { login.addAttribute("reprompt", "true") }
        case .attribute(ItemNames.tags):
            let text = reader.text(cell)
            let separators = product == CSVLayout.own ? "\n" : ",;\n"
            let tags = text.split { separators.contains($0) }.map { Login.trimmed($0) }
            login.addTags(tags, earlier: text)
        case .attribute(let name): login.addAttribute(name, reader.text(cell))
        case .field(let name): login.addField(name, try reader.secret(cell))
        case .ignored: break
        }
    }

    private static func date(_ text: String) -> Date? {
        guard let number = Int64(text) else { return try? Date(text, strategy: .iso8601) }
        // No login is of 1973, where smaller milliseconds would be.
        let seconds = number < 100_000_000_000 ? Double(number) : Double(number) / 1000
        return number > 0 ? Date(timeIntervalSince1970: seconds) : nil
    }

    /// Makes a secure note of a note. The notes of other kinds of entries may have a card's number, and are a field.
    private static func settle(_ login: inout Login) throws(ImportError) {
        guard let kind = login.kind else { return }
        login.kind = kinds[kind] ?? kind
        login.address = .service(login.title.isEmpty ? kind : login.title)
        guard !login.notes.isEmpty else { return }
        let notes = try Secret(plain: login.notes)
        if kind == "note", login.password == nil {
            login.kind = "secure note"
            login.password = notes
        } else {
            login.addField(ItemNames.notes, notes)
        }
        login.notes = ""
    }

    private static let kinds = [
        "note": "secure note", "creditCard": "card", "credit_card": "card", "sshKey": "ssh key",
    ]

    private static let logins: Set<String> = ["login", "password", "alias", ""]

    private static func readCustom(_ secret: Secret?, _ login: inout Login) throws(ImportError) {
        guard let secret else { return }
        guard let value = try? JSONValue(Document(secret)), value.isArray else {
            return login.addField("custom_fields", secret)
        }
        for field in value.elements {
            let name = field["label"]?.text ?? field["name"]?.text ?? "field"
            if ["text", "email", "url", "date"].contains(field["type"]?.text ?? "") {
                login.addAttribute(name, field["value"]?.text)
            } else {
                login.addField(name, try field["value"]?.secretOrSource())
            }
        }
    }

    private static func urls(_ text: String) -> [String] {
        if text.hasPrefix("["), let secret = try? Secret(plain: text), let value = try? JSONValue(Document(secret)) {
            return value.elements.compactMap(\.text)
        }
        // A comma is also a part of URLs: it separates where another scheme follows.
        let parts = text.split(separator: ",").map { $0.drop { $0 == " " } }
        let areURLs = parts.allSatisfy { $0.contains("://") }
        return areURLs ? parts.map(String.init) : text.isEmpty ? [] : [text]
    }
}

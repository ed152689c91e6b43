// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat

/// Logins in comma-separated values.
package enum CSVLogins {
    /// - Returns: the logins, and the product identified by the header.
    /// - Throws: `.malformed` with a line, for an unclosed quote, or a row whose number of cells differs from the
    ///   header's.
    package static func logins(_ document: Document) throws(ImportError) -> (logins: ImportedLogins, product: String) {
        var reader = CSVReader(document)
        guard let header = try reader.next() else { throw .malformed(nil, "the file is empty") }
        let names = header.cells.map { reader.text($0) }
        guard let layout = CSVLayout.of(names) else {
            throw .otherFormat(
                "the header in line \(header.line) is no product's that is known",
                hint: "one line with at least: name,url,username,password")
        }
        let columns = names.map(layout.column)
        var imported = ImportedLogins()
        var counts: [String: Int] = [:]
        while let row = try reader.next() {
            guard row.cells.count == names.count else {
                throw .line(row.line, "\(row.cells.count) fields, and the header has \(names.count)")
            }
            var login = Login(id: "", place: "line \(row.line)")
            for (column, cell) in zip(columns, row.cells) {
                try read(cell, column, of: layout.product, reader, &login)
            }
            if layout.product == "lastpass", login.urls.first == "http://sn" { makeNote(&login) }
            if login.id.isEmpty { counts[earlierID(login), default: 0] += 1 }
            imported.logins.append(login)
        }
        for index in imported.logins.indices where imported.logins[index].id.isEmpty {
            let id = earlierID(imported.logins[index])
            let numbers = 1...min(max(counts[id] ?? 1, 3), 8)
            imported.logins[index].earlierIDs = numbers.map { Login.digest($0 == 1 ? id : "\(id)\n\($0)") }
        }
        return (imported, layout.product)
    }

    /// The identity that earlier versions gave to a further row of a page and user; one of the same title had a number
    /// behind it.
    private static func earlierID(_ login: Login) -> String {
        [login.urls.first ?? login.title, login.user, login.title].joined(separator: "\n")
    }

    private static func read(
        _ cell: CSVReader.Cell, _ column: CSVLayout.Column, of product: String, _ reader: CSVReader,
        _ login: inout Login
    ) throws(ImportError) {
        switch column {
        case .title: login.title = reader.text(cell)
        case .url:
            let text = reader.text(cell)
            if !text.isEmpty { login.urls = [text] }
        case .user: login.user = reader.text(cell)
        case .password: login.password = try reader.secret(cell)
        case .notes: login.notes = reader.text(cell)
        case .otp: login.addField(ImportNames.otp, try reader.secret(cell))
        case .folder:
            // LastPass separates folders by backslashes.
            let folder = reader.text(cell)
            login.folder = product == "lastpass" ? folder.replacing("\\", with: "/") : folder
        case .id: login.id = reader.text(cell)
        case .created: login.created = date(reader.text(cell))
        case .modified: login.modified = date(reader.text(cell))
        case .attribute("reprompt"): if reader.text(cell) == "1" { login.addAttribute("reprompt", "true") }
        case .attribute(let name): login.addAttribute(name, reader.text(cell))
        case .field(let name): login.addField(name, try reader.secret(cell))
        case .ignored: break
        }
    }

    private static func date(_ text: String) -> Date? {
        guard let milliseconds = Int64(text) else { return try? Date(text, strategy: .iso8601) }
        return milliseconds > 0 ? Date(timeIntervalSince1970: Double(milliseconds) / 1000) : nil
    }

    /// Converts a note, which LastPass stores as a login with a placeholder URL.
    private static func makeNote(_ login: inout Login) {
        login.urls = []
        login.kind = "secure note"
        login.address = .service(login.title.isEmpty ? "note" : login.title)
        guard login.password == nil, let note = try? Secret(plain: login.notes) else { return }
        login.password = note
        login.notes = ""
    }
}

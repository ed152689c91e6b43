// SPDX-License-Identifier: Apache-2.0

/// The columns of one product's CSV, which its header tells: read and written by this one table.
package struct CSVLayout: Sendable {
    package enum Column: Equatable, Sendable {
        case title, url, user, password, notes, otp, folder, id
        /// A time in milliseconds since 1970, or as RFC 3339 has it.
        case created, modified
        /// An attribute of this name.
        case attribute(String)
        /// A secret of this name.
        case field(String)
        /// Of use to the product alone.
        case ignored
    }

    package let product: String
    /// In the order in which the product writes them.
    package let columns: [(name: String, column: Column)]
    /// The columns without which a header is another's; compared without regard to case.
    let telling: Set<String>

    private init(_ product: String, telling: Set<String>, _ columns: [(String, Column)]) {
        (self.product, self.telling) = (product, telling)
        self.columns = columns.map { (name: $0.0, column: $0.1) }
    }

    /// The more a header must have, the earlier it is tried.
    package static let all: [CSVLayout] = [
        CSVLayout(
            "firefox", telling: ["url", "username", "password", "httprealm", "formactionorigin"],
            [
                ("url", .url), ("username", .user), ("password", .password), ("httpRealm", .attribute("httpRealm")),
                ("formActionOrigin", .attribute("formActionOrigin")), ("guid", .id), ("timeCreated", .created),
                ("timeLastUsed", .ignored), ("timePasswordChanged", .modified),
            ]),
        CSVLayout(
            "lastpass", telling: ["url", "username", "password", "extra", "name", "grouping"],
            [
                ("url", .url), ("username", .user), ("password", .password), ("totp", .otp), ("extra", .notes),
                ("name", .title), ("grouping", .folder), ("fav", .attribute("favorite")),
            ]),
        CSVLayout(
            "1password", telling: ["title", "url", "username", "password", "otpauth", "archived"],
            [
                ("Title", .title), ("Url", .url), ("Username", .user), ("Password", .password), ("OTPAuth", .otp),
                ("Favorite", .attribute("favorite")), ("Archived", .attribute("archived")),
                ("Tags", .attribute("tags")), ("Notes", .notes),
            ]),
        CSVLayout(
            "bitwarden", telling: ["type", "name", "login_uri", "login_username", "login_password"],
            [
                ("folder", .folder), ("favorite", .attribute("favorite")), ("type", .ignored), ("name", .title),
                ("notes", .notes), ("fields", .field("fields")), ("reprompt", .attribute("reprompt")),
                ("login_uri", .url),
                ("login_username", .user), ("login_password", .password), ("login_totp", .otp),
            ]),
        CSVLayout(
            "keepassxc", telling: ["group", "title", "username", "password", "url", "notes"],
            [
                ("Group", .folder), ("Title", .title), ("Username", .user), ("Password", .password), ("URL", .url),
                ("Notes", .notes), ("TOTP", .otp), ("Icon", .ignored), ("Last Modified", .modified),
                ("Created", .created),
            ]),
        CSVLayout(
            "apple", telling: ["title", "url", "username", "password", "notes", "otpauth"],
            [
                ("Title", .title), ("URL", .url), ("Username", .user), ("Password", .password), ("Notes", .notes),
                ("OTPAuth", .otp),
            ]),
        CSVLayout(
            "chrome", telling: ["name", "url", "username", "password"],
            [("name", .title), ("url", .url), ("username", .user), ("password", .password), ("note", .notes)]),
    ]

    /// Those that `vault export csv` writes.
    package static let written = ["apple", "chrome", "firefox", "lastpass", "1password"]

    package static func named(_ product: String) -> CSVLayout? { all.first { $0.product == product } }

    /// Whose a header is.
    static func of(_ header: [String]) -> CSVLayout? {
        let names = Set(header.map { $0.lowercased() })
        return all.first { $0.telling.isSubset(of: names) }
    }

    /// What a column is; one that the product did not have when this was written may be a secret.
    func column(_ name: String) -> Column {
        columns.first { $0.name.lowercased() == name.lowercased() }?.column ?? .field(name)
    }
}

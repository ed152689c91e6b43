// SPDX-License-Identifier: Apache-2.0

/// The columns of a product's CSV, recognized by the header; used both for reading and for writing.
package struct CSVLayout: Sendable {
    package enum Column: Equatable, Sendable {
        case title, url, user, password, notes, otp, folder, id
        /// A time in milliseconds since 1970, or in RFC 3339.
        case created, modified
        /// An attribute with this name.
        case attribute(String)
        /// A secret with this name.
        case field(String)
        /// Only of use to the product itself.
        case ignored
    }

    package let product: String
    /// The columns, in the order in which the product writes them.
    package let columns: [(name: String, column: Column)]
    /// The columns that identify the product's header; compared case-insensitively.
    let telling: Set<String>

    private init(_ product: String, telling: Set<String>, _ columns: [(String, Column)]) {
        (self.product, self.telling) = (product, telling)
        self.columns = columns.map { (name: $0.0, column: $0.1) }
    }

    /// The layouts, those with the most identifying columns first.
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

    /// The products whose layout `vault export csv` writes.
    package static let written = ["apple", "chrome", "firefox", "lastpass", "1password"]

    package static func named(_ product: String) -> CSVLayout? { all.first { $0.product == product } }

    /// Returns the layout of a header.
    static func of(_ header: [String]) -> CSVLayout? {
        let names = Set(header.map { $0.lowercased() })
        return all.first { $0.telling.isSubset(of: names) }
    }

    /// Returns the meaning of a column; an unknown column, added by later versions, may be a secret.
    func column(_ name: String) -> Column {
        columns.first { $0.name.lowercased() == name.lowercased() }?.column ?? .field(name)
    }
}

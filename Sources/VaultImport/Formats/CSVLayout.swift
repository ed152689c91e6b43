// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// The columns of a product's CSV, recognized by the header; used both for reading and for writing.
package struct CSVLayout: Sendable {
    package enum Column: Equatable, Sendable {
        case title, url, user, password, notes, otp, folder, id
        /// Further URLs, in a JSON array or separated by commas.
        case urls
        /// The user, unless another column has one.
        case email
        /// What the entry is, if not a login.
        case kind
        /// Custom fields in a JSON array, as NordPass has them.
        case custom
        /// A time in seconds or milliseconds since 1970, or in RFC 3339.
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
            own, telling: ["title", "url", "username", "password", Statement.service],
            [
                ("title", .title), ("url", .url), ("username", .user), ("password", .password), ("notes", .notes),
                ("otp", .otp), ("folder", .folder), ("tags", .attribute(ItemNames.tags)), ("id", .id),
                ("created", .created), ("modified", .modified),
            ] + Statement.all.sorted().map { ($0, .attribute($0)) }),
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
            "protonpass", telling: ["type", "name", "url", "username", "password", "note", "totp"],
            [
                ("type", .kind), ("name", .title), ("url", .urls), ("autofillUrls", .urls), ("email", .email),
                ("username", .user), ("password", .password), ("note", .notes), ("totp", .otp),
                ("createTime", .created), ("modifyTime", .modified), ("vault", .folder),
            ]),
        CSVLayout(
            "nordpass", telling: ["name", "url", "username", "password", "note", "cardnumber", "folder", "type"],
            [
                ("name", .title), ("url", .url), ("additional_urls", .urls), ("username", .user),
                ("password", .password), ("note", .notes), ("cardholdername", .field("cardholderName")),
                ("cardnumber", .field("number")), ("cvc", .field("code")), ("pin", .field("pin")),
                ("expirydate", .field("expiryDate")), ("zipcode", .field("postalCode")), ("folder", .folder),
                ("shared_folder", .attribute("shared_folder")), ("full_name", .field("fullName")),
                ("phone_number", .field("phone")), ("email", .email), ("address1", .field("address1")),
                ("address2", .field("address2")), ("city", .field("city")), ("country", .field("country")),
                ("state", .field("state")), ("type", .kind), ("custom_fields", .custom),
            ]),
        CSVLayout(
            "dashlane", telling: ["username", "username2", "title", "password", "note", "url", "category"],
            [
                ("username", .user), ("username2", .attribute("username2")), ("username3", .attribute("username3")),
                ("title", .title), ("password", .password), ("note", .notes), ("url", .url), ("category", .folder),
                ("otpSecret", .otp), ("otpUrl", .otp),
            ]),
        CSVLayout(
            "roboform", telling: ["name", "url", "login", "pwd", "note", "folder"],
            [
                ("Name", .title), ("Url", .url), ("MatchUrl", .urls), ("Login", .user), ("Pwd", .password),
                ("Note", .notes), ("Folder", .folder), ("RfFieldsV2", .field("RfFieldsV2")),
            ]),
        CSVLayout(
            "keepass", telling: ["account", "login name", "password", "web site", "comments"],
            [
                ("Account", .title), ("Login Name", .user), ("Password", .password), ("Web Site", .url),
                ("Comments", .notes),
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
    package static let written = [own, "apple", "chrome", "firefox", "lastpass", "1password"]

    /// The layout of this product, with a column for each statement about an item.
    static let own = "vault"

    package static func named(_ product: String) -> CSVLayout? { all.first { $0.product == product } }

    /// Returns the layout that fits a header best: the one that leaves the fewest columns over, and else the one with
    /// the most identifying columns. A header of no product's that is known, but with the common names of columns, has
    /// a layout of its own.
    static func of(_ header: [String]) -> CSVLayout? {
        let names = Set(header.map { $0.lowercased() })
        let known = all.filter { $0.telling.isSubset(of: names) }
        let best = known.min { $0.left(of: header).count < $1.left(of: header).count }
        if let best { return best }
        let meanings = header.compactMap { common[$0.lowercased()] }
        guard meanings.contains(.password), meanings.contains(where: { [.url, .title].contains($0) }) else {
            return nil
        }
        return CSVLayout("csv", telling: [], [])
    }

    /// Returns the columns of a header whose meaning is not known: a product that looks like another, or a later
    /// version of it, may have them.
    func left(of header: [String]) -> [String] {
        header.filter { name in !columns.contains { $0.name.lowercased() == name.lowercased() } }
    }

    /// The names that products commonly give to columns, in lower case.
    private static let common: [String: Column] = [
        "title": .title, "name": .title, "account": .title, "url": .url, "website": .url, "web site": .url,
        "login_uri": .url, "uri": .url, "username": .user, "user": .user, "login": .user, "login name": .user,
        "user name": .user, "login_username": .user, "email": .email, "e-mail": .email, "password": .password,
        "pwd": .password, "login_password": .password, "notes": .notes, "note": .notes, "comments": .notes,
        "comment": .notes, "extra": .notes, "totp": .otp, "otp": .otp, "otpauth": .otp, "otpurl": .otp,
        "otpsecret": .otp, "login_totp": .otp, "two factor": .otp, "folder": .folder, "group": .folder,
        "grouping": .folder, "category": .folder, "vault": .folder, "tags": .attribute("tags"),
    ]

    /// Returns the meaning of a column, if the layout or the common names have one.
    func meaning(_ name: String) -> Column? {
        columns.first { $0.name.lowercased() == name.lowercased() }?.column ?? CSVLayout.common[name.lowercased()]
    }
}

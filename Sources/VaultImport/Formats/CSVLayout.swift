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
        /// The kind of the entry, if not a login.
        case kind
        /// Custom fields in a JSON array, as NordPass has them.
        case custom
        /// A time in seconds or milliseconds since 1970, or in RFC 3339.
        case created, modified
        case attribute(String)
        case field(String)
        case ignored
    }

    package let product: String
    package let columns: [(name: String, column: Column)]
    /// The columns that identify the product's header; compared case-insensitively.
    let telling: Set<String>

    /// - Parameters:
    ///   - telling: the names of columns, separated by commas, as all lists here.
    ///   - columns: the names, each with `=` and a meaning behind it unless its name has one: `@` with the name of an
    ///     attribute, `#` with the name of a field, `-` for none, and the others of ``meanings``.
    private init(_ product: String, telling: String, _ columns: String) {
        self.product = product
        self.telling = Set(CSVLayout.list(telling))
        self.columns = CSVLayout.list(columns).map { column in
            let parts = column.split(separator: "=", maxSplits: 1).map(String.init)
            guard let meaning = parts.dropFirst().first else {
                return (column, CSVLayout.common[column.lowercased()] ?? .ignored)
            }
            switch meaning.first {
            case "@": return (parts[0], .attribute(String(meaning.dropFirst())))
            case "#": return (parts[0], .field(String(meaning.dropFirst())))
            default: return (parts[0], CSVLayout.meanings[meaning] ?? .ignored)
            }
        }
    }

    private static func list(_ text: String) -> [String] { text.split(separator: ",").map(String.init) }

    private static let meanings: [String: Column] = [
        "id": .id, "urls": .urls, "kind": .kind, "custom": .custom, "created": .created, "modified": .modified,
    ]

    /// The layouts, those with the most identifying columns first.
    package static let all: [CSVLayout] = [
        CSVLayout(
            own, telling: "title,url,username,password,\(Statement.service)",
            "title,url,username,password,notes,otp,folder,tags,id=id,created=created,modified=modified,"
                + Statement.all.sorted().map { "\($0)=@\($0)" }.joined(separator: ",")),
        CSVLayout(
            "firefox", telling: "url,username,password,httprealm,formactionorigin",
            "url,username,password,httpRealm=@httpRealm,formActionOrigin=@formActionOrigin,guid=id,"
                + "timeCreated=created,timeLastUsed=-,timePasswordChanged=modified"),
        CSVLayout(
            "lastpass", telling: "url,username,password,extra,name,grouping",
            "url,username,password,totp,extra,name,grouping,fav=@favorite"),
        CSVLayout(
            "1password", telling: "title,url,username,password,otpauth,archived",
            "Title,Url,Username,Password,OTPAuth,Favorite=@favorite,Archived=@archived,Tags,Notes"),
        CSVLayout(
            "bitwarden", telling: "type,name,login_uri,login_username,login_password",
            "folder,favorite=@favorite,type=-,name,notes,fields=#fields,reprompt=@reprompt,login_uri,login_username,"
                + "login_password,login_totp"),
        CSVLayout(
            "keepassxc", telling: "group,title,username,password,url,notes",
            "Group,Title,Username,Password,URL,Notes,TOTP,Icon=-,Last Modified=modified,Created=created"),
        CSVLayout(
            "protonpass", telling: "type,name,url,username,password,note,totp",
            "type=kind,name,url=urls,autofillUrls=urls,email,username,password,note,totp,createTime=created,"
                + "modifyTime=modified,vault"),
        CSVLayout(
            "nordpass", telling: "name,url,username,password,note,cardnumber,folder,type",
            "name,url,additional_urls=urls,username,password,note,cardholdername=#cardholderName,cardnumber=#number,"
                + "cvc=#code,pin=#pin,expirydate=#expiryDate,zipcode=#postalCode,folder,shared_folder=@shared_folder,"
                + "full_name=#fullName,phone_number=#phone,email,address1=#address1,address2=#address2,city=#city,"
                + "country=#country,state=#state,type=kind,custom_fields=custom"),
        CSVLayout(
            "dashlane", telling: "username,username2,title,password,note,url,category",
            "username,username2=@username2,username3=@username3,title,password,note,url,category,otpSecret,otpUrl"),
        CSVLayout(
            "roboform", telling: "name,url,login,pwd,note,folder",
            "Name,Url,MatchUrl=urls,Login,Pwd,Note,Folder,RfFieldsV2=#RfFieldsV2"),
        CSVLayout(
            "keepass", telling: "account,login name,password,web site,comments",
            "Account,Login Name,Password,Web Site,Comments"),
        CSVLayout(
            "apple", telling: "title,url,username,password,notes,otpauth",
            "Title,URL,Username,Password,Notes,OTPAuth"),
        CSVLayout("chrome", telling: "name,url,username,password", "name,url,username,password,note"),
    ]

    package static let written = [own, "apple", "chrome", "firefox", "lastpass", "1password"]

    static let own = "vault"

    package static func named(_ product: String) -> CSVLayout? { all.first { $0.product == product } }

    /// Returns the layout that leaves the fewest columns of a header over, and else has the most identifying columns;
    /// one of its own for a header of no product's, but with the common names of columns.
    static func of(_ header: [String]) -> CSVLayout? {
        let names = Set(header.map { $0.lowercased() })
        let known = all.filter { $0.telling.isSubset(of: names) }
        let best = known.min { $0.left(of: header).count < $1.left(of: header).count }
        if let best { return best }
        let meanings = header.compactMap { common[$0.lowercased()] }
        guard meanings.contains(.password), meanings.contains(where: { [.url, .title].contains($0) }) else {
            return nil
        }
        return CSVLayout("csv", telling: "", "")
    }

    /// Returns the columns of a header whose meaning is not known.
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

    func meaning(_ name: String) -> Column? {
        columns.first { $0.name.lowercased() == name.lowercased() }?.column ?? CSVLayout.common[name.lowercased()]
    }
}

// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault

@testable import VaultImport

/// Comma-separated values of browsers and password managers.
struct CSVTests {
    private static func cells(_ text: String) throws -> [[String]] {
        var reader = CSVReader(try Document(text: text))
        var rows: [[String]] = []
        while let row = try reader.next() { rows.append(row.cells.map { reader.text($0) }) }
        return rows
    }

    @Test(arguments: [
        ("a,\"b\nc", "line 1: a quote is left open"),
        ("a\nb\n\"c", "line 3: a quote is left open"),
        ("a\n\"b\"c\n", "line 2: something follows the quote that ends a field"),
    ])
    func `a quote that is left open is found, with its line`(_ text: String, _ expected: String) {
        #expect(flaw { _ = try Self.cells(text) } == expected)
    }

    @Test func `bytes that are no text are found, with their line`() throws {
        let bytes: [UInt8] = Array("a,b\nc,".utf8) + [0xff, 0x0a]
        #expect(flaw { _ = try Document(Secret(bytes: bytes)) } == "line 2: the text is not UTF-8")
    }

    @Test func `a field of more than 16 MiB is refused, with its line`() throws {
        let text = "name,url,username,password\nn,u,a," + String(repeating: "x", count: 16 << 20 + 1) + "\n"
        let document = try Document(text: text.count > 0 ? text : "")
        let large = try Document(
            text: "name,url,username,password\na,b,c,d\nn,u,a," + String(repeating: "x", count: (16 << 20) + 1))
        #expect(flaw { _ = try CSVLogins.logins(large) } == "too large: line 3")
        _ = document
    }

    @Test func `rows end as on any system, a byte order mark goes, and quotes may hold anything`() throws {
        #expect(
            try Self.cells("\u{feff}a,b\r\nc,d\n\"e\"\"f\",\"g\r\nh\"\ri,") == [
                ["a", "b"], ["c", "d"], ["e\"f", "g\r\nh"], ["i", ""],
            ])
        #expect(try Self.cells("") == [])
        #expect(try Self.cells("\n\n,\n") == [["", ""]])
    }

    @Test(arguments: [
        ("chrome", "name,url,username,password,note\nExample,https://example.com/,ada,pw,n\n"),
        (
            "firefox",
            """
            "url","username","password","httpRealm","formActionOrigin",\
            "guid","timeCreated","timeLastUsed","timePasswordChanged"
            "https://example.com","ada","pw","r","https://f.example","{1}","1","2","3"

            """
        ),
        (
            "apple",
            "Title,URL,Username,Password,Notes,OTPAuth\nExample,https://example.com/,ada,pw,n,otpauth"
                + "://totp/x?secret=A\n"
        ),
        (
            "lastpass",
            "url,username,password,totp,extra,name,grouping,fav\nhttps://example.com,ada,pw,,n,Example,Web,0\n"
        ),
        (
            "1password",
            "Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes\nExample,https://exampl"
                + "e.com,ada,pw,,false,false,t,n\n"
        ),
        (
            "bitwarden",
            "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp\n"
                + "Web,,login,Example,n,,0,https://example.com,ada,pw,\n"
        ),
        (
            "keepassxc",
            "Group,Title,Username,Password,URL,Notes,TOTP,Icon,Last Modified,Created\nRoot,Example,ad"
                + "a,pw,https://example.com,n,,0,,\n"
        ),
    ])
    func `the header tells whose it is`(_ product: String, _ text: String) throws {
        let imported = try CSVLogins.logins(Document(text: text))
        let login = try #require(imported.logins.first)
        #expect(imported.product == product && imported.logins.count == 1)
        #expect(
            login.user == "ada" && login.password?.text == "pw"
                && login.urls.first?.hasPrefix("https://example.com") == true)
        #expect(product == "firefox" ? login.id == "{1}" && login.named["httpRealm"] == "r" : login.title == "Example")
    }

    @Test func `another header and an empty file are refused, and a row of another number of fields is skipped`() throws
    {
        #expect(
            flaw { _ = try CSVLogins.logins(Document(text: "a,b\n1,2\n")) }
                == "the header in line 1 is no product's that is known")
        let imported = try CSVLogins.logins(Document(text: "name,url,username,password\na,b,c\nx,y,z,pw\n"))
        #expect(imported.logins.map { $0.password?.text } == ["pw"])
        #expect(
            imported.skipped.map { "\($0.place): \($0.reason)" } == ["line 2: it has 3 fields, and the header has 4"])
        #expect(flaw { _ = try CSVLogins.logins(Document(text: "")) } == "all: the file is empty")
    }

    @Test func `LastPass's notes are no logins of a page`() throws {
        let text = "url,username,password,totp,extra,name,grouping,fav\nhttp://sn,,,,the note,My note,,0\n"
        let login = try #require(try CSVLogins.logins(Document(text: text)).logins.first)
        #expect(login.kind == "secure note" && login.password?.text == "the note" && login.urls.isEmpty)
    }

    @Test func `LastPass's folders lie in one another here, and go out as they came`() throws {
        let header = "url,username,password,totp,extra,name,grouping,fav"
        let folders = ["Work\\Mail\\Old", "Work", "", "\\a\\"]
        let rows = folders.enumerated().map { "https://host\($0).example,ada,pw,,,Example,\($1),0" }
        let text = ([header] + rows).joined(separator: "\n") + "\n"
        let vault = try Vault.inMemory(accessGroups: .standard)
        let imported = try CSVLogins.logins(Document(text: text))
        #expect(imported.logins.map(\.folder) == ["Work/Mail/Old", "Work", "", "/a/"])
        try imported.stored(in: vault, of: "lastpass")
        #expect(try vault.all().map { $0.userAttributes["folder"] } == ["Work/Mail/Old", "Work", nil, "/a/"])
        var entries = try ExportedEntries(try vault.all())
        let written = try CSVExport.text(&entries, for: #require(CSVLayout.named("lastpass"))).text
        let cells = written.split(separator: "\r\n").dropFirst().map {
            $0.split(separator: ",", omittingEmptySubsequences: false)[6]
        }
        #expect(cells.map(String.init) == folders)
        // For other products a backslash is not an escape.
        let other = try CSVLogins.logins(
            Document(
                text: "Group,Title,Username,Password,URL,Notes,TOTP,Icon,Last Modified,Created\nA\\B,t,u,p,,,,0,,\n"))
        #expect(other.logins.map(\.folder) == ["A\\B"])
    }

    @Test func `a file of Proton Pass has users, seeds, vaults and kinds`() throws {
        let text =
            "type,name,url,autofillUrls,email,username,password,note,totp,createTime,modifyTime,vault\n"
            + "login,A,\"https://a.example/,https://b.example\",,a@x.example,ada,pw,n,otpauth://totp/x?secret=A,"
            + "1700000000,1700000100,Personal\n"
            + "login,B,https://a.example/?x=1&y=2,,b@x.example,,pw2,,,1700000000,1700000000,\n"
            + "note,Memo,,,,,,the note,,1,1,Personal\n"
            + "creditCard,Visa,,,,,,\"{\"\"number\"\":\"\"4111\"\"}\",,1,1,\n"
        let imported = try CSVLogins.logins(Document(text: text))
        #expect(imported.product == "protonpass" && imported.skipped.isEmpty && imported.remarks.isEmpty)
        let (first, second, note, card) = (
            imported.logins[0], imported.logins[1], imported.logins[2], imported.logins[3]
        )
        #expect(first.urls == ["https://a.example/", "https://b.example"] && first.user == "ada")
        #expect(first.named == ["email": "a@x.example"] && first.texts == ["otp": "otpauth://totp/x?secret=A"])
        #expect(first.folder == "Personal" && first.created?.timeIntervalSince1970 == 1_700_000_000)
        #expect(second.user == "b@x.example" && second.urls == ["https://a.example/?x=1&y=2"])
        #expect(note.kind == "secure note" && note.password?.text == "the note" && note.notes.isEmpty)
        #expect(card.kind == "card" && card.texts == ["notes": "{\"number\":\"4111\"}"] && card.notes.isEmpty)
    }

    @Test func `a file of NordPass has cards, folders and custom fields`() throws {
        let header =
            "name,url,additional_urls,username,password,note,cardholdername,cardnumber,cvc,pin,expirydate,zipcode,"
            + "folder,"
            + "shared_folder,full_name,phone_number,email,address1,address2,city,country,state,type,custom_fields\n"
        let custom =
            #""[{""label"":""color"",""type"":""text"",""value"":""blue""},"#
            + #"{""label"":""code"",""type"":""hidden"",""value"":""s3""}]""#
        let text =
            header + "Web/Mail,,,,,,,,,,,,,,,,,,,,,,folder,\n"
            + #"A,https://a.example/,"[""https://b.example""]",ada,pw,n,,,,,,,Web/Mail,,,,,,,,,,password,"# + custom
            + "\n"
            + "Visa,,,,,,Ada L,4111,123,99,10/30,8000,,,,,,,,,,,credit_card,\n"
        let imported = try CSVLogins.logins(Document(text: text))
        #expect(imported.product == "nordpass" && imported.remarks.isEmpty && imported.logins.count == 2)
        #expect(imported.skipped.isEmpty && imported.looks.values.map { $0 } == [1])
        let (login, card) = (imported.logins[0], imported.logins[1])
        #expect(login.urls == ["https://a.example/", "https://b.example"] && login.folder == "Web/Mail")
        #expect(login.named == ["color": "blue"] && login.texts == ["code": "s3"] && login.kind == nil)
        #expect(
            card.kind == "card"
                && card.texts == [
                    "cardholderName": "Ada L", "number": "4111", "code": "123", "pin": "99", "expiryDate": "10/30",
                    "postalCode": "8000",
                ])
    }

    @Test(arguments: [
        (
            "dashlane",
            "username,username2,username3,title,password,note,url,category,otpUrl\n"
                + "ada,a2,,Example,pw,n,https://example.com,Web,otpauth://totp/x?secret=A\n"
        ),
        (
            "roboform",
            "Name,Url,MatchUrl,Login,Pwd,Note,Folder,RfFieldsV2\nExample,https://example.com,,ada,pw,n,Web,x\n"
        ),
        (
            "keepass",
            "\"Account\",\"Login Name\",\"Password\",\"Web Site\",\"Comments\"\n"
                + "\"Example\",\"ada\",\"pw\",\"https://example.com\",\"n\"\n"
        ),
        (
            "csv",
            "Website,Login,Pwd,OTPAuth,Category,Title,Comment\n"
                + "https://example.com,ada,pw,otpauth://totp/x?secret=A,Web,Example,n\n"
        ),
    ])
    func `further products, and common names of columns, are understood`(_ product: String, _ text: String) throws {
        let imported = try CSVLogins.logins(Document(text: text))
        let login = try #require(imported.logins.first)
        #expect(imported.product == product && imported.remarks.isEmpty)
        #expect(login.user == "ada" && login.password?.text == "pw" && login.urls == ["https://example.com"])
        #expect(login.title == "Example" && login.notes == "n")
        #expect(product == "keepass" || login.folder == "Web")
        let hasSeed = login.texts["otp"] == "otpauth://totp/x?secret=A"
        #expect(["dashlane", "csv"].contains(product) == hasSeed)
    }

    @Test func `columns that look like Chrome's and more are taken by their meaning, and unknown ones are named`()
        throws
    {
        let text = "name,url,username,password,note,totp,folder,color\nA,https://a.example,ada,pw,n,S,Web,blue\n"
        let imported = try CSVLogins.logins(Document(text: text))
        let login = try #require(imported.logins.first)
        #expect(imported.product == "chrome" && login.folder == "Web" && login.texts == ["otp": "S", "color": "blue"])
        #expect(imported.remarks == ["the column 'color' is not known: its values are fields"])
        // A file without a header may have a password in its first line, which no message repeats.
        let flaw = flaw { _ = try CSVLogins.logins(Document(text: "Web,Example,ada,pw,https://a.example\n")) }
        #expect(flaw == "the header in line 1 is no product's that is known")
    }

    @Test(arguments: CSVLayout.written.filter { $0 != CSVLayout.own })
    func `an export for a product imports unchanged`(_ product: String) throws {
        let layout = try #require(CSVLayout.named(product))
        let header = layout.columns.map(\.name).joined(separator: ",")
        func row(_ number: Int) -> String {
            layout.columns.map { column in
                switch column.column {
                case .url: "https://host\(number).example/login"
                case .id: "{guid-\(number)}"
                case .ignored: ""
                case .otp: "otpauth://totp/x?secret=JBSWY3DP"
                case .title where number == 2: "\"A, \"\"title\"\"\nof two lines\""
                default: "\(column.name) \(number)"
                }
            }.joined(separator: ",")
        }
        let text = ([header] + (1...3).map(row)).joined(separator: "\r\n") + "\r\n"
        let first = try CSVLogins.logins(Document(text: text))
        let vault = try Vault.inMemory(accessGroups: .standard)
        #expect(try first.stored(in: vault, of: product).counts == "added 3")
        var entries = try ExportedEntries(try vault.all())
        let written = try CSVExport.text(&entries, for: layout)
        let again = try CSVLogins.logins(Document(written))
        #expect(again.product == product && again.logins.count == 3)
        for (one, other) in zip(first.logins, again.logins) {
            #expect(one.user == other.user && one.password?.text == other.password?.text && one.urls == other.urls)
            #expect(one.notes == other.notes && one.texts == other.texts && one.named == other.named)
            #expect(one.folder == other.folder && (product == "firefox" || one.title == other.title))
        }
        #expect(try again.stored(in: vault, of: product).counts == "unchanged 3")
    }
}

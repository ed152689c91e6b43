// SPDX-License-Identifier: Apache-2.0
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
        let (imported, found) = try CSVLogins.logins(Document(text: text))
        let login = try #require(imported.logins.first)
        #expect(found == product && imported.logins.count == 1)
        #expect(
            login.user == "ada" && login.password?.text == "pw"
                && login.urls.first?.hasPrefix("https://example.com") == true)
        #expect(product == "firefox" ? login.id == "{1}" && login.named["httpRealm"] == "r" : login.title == "Example")
    }

    @Test func `another header, other numbers of fields and an empty file are refused`() throws {
        #expect(
            flaw { _ = try CSVLogins.logins(Document(text: "a,b\n1,2\n")) }
                == "the header in line 1 is no product's that is known")
        #expect(
            flaw { _ = try CSVLogins.logins(Document(text: "name,url,username,password\na,b,c\n")) }
                == "line 2: 3 fields, and the header has 4")
        #expect(flaw { _ = try CSVLogins.logins(Document(text: "")) } == "all: the file is empty")
    }

    @Test func `LastPass's notes are no logins of a page`() throws {
        let text = "url,username,password,totp,extra,name,grouping,fav\nhttp://sn,,,,the note,My note,,0\n"
        let login = try #require(try CSVLogins.logins(Document(text: text)).logins.logins.first)
        #expect(login.kind == "secure note" && login.password?.text == "the note" && login.urls.isEmpty)
    }

    @Test func `LastPass's folders lie in one another here, and go out as they came`() throws {
        let header = "url,username,password,totp,extra,name,grouping,fav"
        let folders = ["Work\\Mail\\Old", "Work", "", "\\a\\"]
        let rows = folders.enumerated().map { "https://host\($0).example,ada,pw,,,Example,\($1),0" }
        let text = ([header] + rows).joined(separator: "\n") + "\n"
        let vault = try Vault.inMemory(accessGroups: .standard)
        let imported = try CSVLogins.logins(Document(text: text)).logins
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
        #expect(other.logins.logins.map(\.folder) == ["A\\B"])
    }

    @Test(arguments: CSVLayout.written)
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
        let first = try CSVLogins.logins(Document(text: text)).logins
        let vault = try Vault.inMemory(accessGroups: .standard)
        #expect(try first.stored(in: vault, of: product).counts == "added 3")
        var entries = try ExportedEntries(try vault.all())
        let written = try CSVExport.text(&entries, for: layout)
        let again = try CSVLogins.logins(Document(written))
        #expect(again.product == product && again.logins.logins.count == 3)
        for (one, other) in zip(first.logins, again.logins.logins) {
            #expect(one.user == other.user && one.password?.text == other.password?.text && one.urls == other.urls)
            #expect(one.notes == other.notes && one.texts == other.texts && one.named == other.named)
            #expect(one.folder == other.folder && (product == "firefox" || one.title == other.title))
        }
        #expect(try again.logins.stored(in: vault, of: product).counts == "unchanged 3")
    }
}

// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import VaultCrypto
import VaultFormat
import VaultSSHAgent

@testable import Vault
@testable import VaultImport

/// Exports in the Credential Exchange Format, and what an import makes of them.
struct CXFExportTests {
    private func logins(_ logins: [Login]) -> ImportedLogins {
        var imported = ImportedLogins()
        imported.logins = logins
        return imported
    }

    private func passkey(counter: UInt32, user: String = "ada", id: UInt8 = 9) throws -> Item {
        let key = try PasskeyKey.make(.es256)
        return try Passkey(
            "example.org", Passkey.Names(relyingParty: "Example", user: user), credentialID: [id], key: key,
            userHandle: Secret(bytes: [1]), counter: counter
        ).item
    }

    @Test func `a passkey that counts its signatures stays, alone or with its login`() throws {
        let vault = try CXFSamples.vault()
        try vault.add(Item(.internetPassword(server: "example.org", account: "ada", protocol: "htps"), secret: "p"))
        try vault.store(
            [passkey(counter: 3), passkey(counter: 1, user: "grace", id: 8), passkey(counter: 0, user: "eve", id: 7)],
            replacing: false)
        var entries = try CXFSamples.entries(vault)
        let written = try CXFSamples.logins(CXFSamples.export(&entries))
        #expect(entries.leftOut == ["passkeys that count their signatures": 2] && entries.missing == 1)
        #expect(written.logins.flatMap(\.passkeys).map(\.passkey.names.user) == ["eve"])
    }

    @Test func `what is no text, and attachments, come back as they were`() throws {
        let vault = try CXFSamples.vault()
        try vault.add(Item(.genericPassword(service: "bytes"), secret: try Secret(bytes: [0xff, 0])))
        var login = Login(id: "a", place: "a")
        login.title = "with a file"
        login.attachments = [.init(name: "a.txt", content: try Secret(text: "x"))]
        try logins([login]).stored(in: vault)
        var entries = try CXFSamples.entries(vault)
        let written = try CXFSamples.logins(CXFSamples.export(&entries))
        #expect(entries.leftOut.isEmpty && entries.entries.count == 3)
        #expect(try written.stored(in: vault, of: "cxf").counts == "unchanged 3")
        let other = try CXFSamples.vault()
        try written.stored(in: other, of: "cxf")
        #expect(try other.first(.genericPassword(service: "bytes"))?.openedSecret()?.exposed == [0xff, 0])
        let attachment = Query(.genericPassword, service: "with a file/attachment", account: "a.txt")
        #expect(try other.copyMatching(attachment).first?.openedSecret()?.text == "x")
    }

    @Test func `the document has the structure of the specification`() throws {
        let vault = try CXFSamples.vault()
        try CXFSamples.logins(CXFSamples.document("header")).stored(in: vault, of: "cxf")
        var entries = try CXFSamples.entries(vault)
        let root = try JSONValue(CXFSamples.export(&entries))
        #expect(root.members.map(\.key) == ["version", "exporterRpId", "exporterDisplayName", "timestamp", "accounts"])
        #expect(root["version"]?["major"]?.integer == 1 && root["timestamp"]?.integer == 1_755_129_600)
        let given = try JSONValue(CXFSamples.document("header"))["accounts"]?.elements.first
        let account = root["accounts"]?.elements.first
        #expect(
            account.map {
                ["id", "username", "email", "items", "collections"].allSatisfy($0.members.map(\.key).contains)
            } == true)
        // Every item has the credentials that it came with, apart from files and the order.
        func credentials(_ account: JSONValue?) -> [String: [String]] {
            Dictionary(
                uniqueKeysWithValues: (account?["items"]?.elements ?? []).map { item in
                    let types = item["credentials"]?.elements.compactMap { $0["type"]?.text } ?? []
                    return (item["id"]?.text ?? "", Set(types.filter { $0 != "file" }).sorted())
                })
        }
        var expected = credentials(given)
        // Here the kind of code that nobody makes became fields.
        expected["aXRlbS0wOA"]?.append("custom-fields")
        #expect(credentials(account) == expected.mapValues { $0.sorted() })
        let login = account?["items"]?.elements.first { $0["id"]?.text == "aXRlbS0wMQ" }
        let passkey = login?["credentials"]?.elements.first { $0["type"]?.text == "passkey" }
        let hmac = passkey?["fido2Extensions"]?["hmacCredentials"]
        #expect(hmac?["algorithm"]?.text == "hmac-sha256" && hmac?["credWithUV"]?.text != hmac?["credWithoutUV"]?.text)
        // A passkey that has only the key for verified users goes out with another one beside it.
        let credentials = (account?["items"]?.elements ?? []).flatMap { $0["credentials"]?.elements ?? [] }
        let pairs = credentials.compactMap { $0["fido2Extensions"]?["hmacCredentials"] }
        #expect(pairs.count == 2 && pairs.allSatisfy { $0["credWithUV"]?.text != $0["credWithoutUV"]?.text })
        #expect(passkey?["fido2Extensions"]?["largeBlob"]?["data"]?.text == "YWJj")
        #expect(passkey?["key"]?.text == given?["items"]?.elements[0]["credentials"]?.elements[3]["key"]?.text)
    }

    @Test func `a document of another product that went out comes in the same`() throws {
        for name in ["header", "account"] {
            let (first, second) = (try CXFSamples.vault(), try CXFSamples.vault())
            try CXFSamples.logins(CXFSamples.document(name)).stored(in: first, of: "cxf")
            var entries = try CXFSamples.entries(first)
            let written = try CXFSamples.export(&entries)
            #expect(entries.leftOut.isEmpty)
            try CXFSamples.logins(written).stored(in: second, of: "cxf")
            #expect(try CXFSamples.content(second) == CXFSamples.content(first))
            // The identifiers are those of the source: nothing is added a second time.
            let again = try CXFSamples.logins(written).stored(in: first, of: "cxf")
            #expect(again.count(.added) == 0 && again.count(.updated) == 0 && again.count(.differs) == 0)
        }
    }

    @Test(arguments: 0..<20) func `an export imports unchanged`(seed: Int) throws {
        let random = SeededRandom("cxf \(seed)")
        let (first, second) = (try CXFSamples.vault(), try CXFSamples.vault())
        try logins((0..<25).map { try CXFSamples.login($0, random) }).stored(in: first, of: "other")
        var entries = try CXFSamples.entries(first)
        let written = try CXFSamples.export(&entries)
        #expect(entries.leftOut.isEmpty)
        try CXFSamples.logins(written).stored(in: second, of: "cxf")
        let (before, after) = (try CXFSamples.content(first), try CXFSamples.content(second))
        #expect(before.count == after.count)
        for (before, after) in zip(before, after) {
            // A passkey has its last maker.
            #expect(
                before.replacing("import:other", with: "import:cxf")
                    == after.replacing("import:other", with: "import:cxf"))
        }
    }

    @Test func `a damaged document that is read goes out, and comes in the same`() throws {
        let random = SeededRandom("damaged cxf")
        let whole = Array(try CXFSamples.document("header").content.text.utf8)
        var count = 0
        for _ in 0..<400 {
            var text = whole
            for _ in 0...random.number(in: 0...3) {
                let place = random.number(in: 0...text.count - 1)
                text[place] = random.element(of: Array("\"{}[]:,x0 \\".utf8))
            }
            guard let document = try? Document(Secret(bytes: text)), let given = try? CXFSamples.logins(document)
            else { continue }
            // An entry without a title goes out under its service.
            guard given.logins.allSatisfy({ !$0.title.isEmpty }) else { continue }
            count += 1
            let (first, second) = (try CXFSamples.vault(), try CXFSamples.vault())
            try given.stored(in: first, of: "cxf")
            var entries = try CXFSamples.entries(first)
            try CXFSamples.logins(CXFSamples.export(&entries)).stored(in: second, of: "cxf")
            let (before, after) = (try CXFSamples.content(first), try CXFSamples.content(second))
            #expect(before.count == after.count)
            for (before, after) in zip(before, after) {
                // A passkey has its last maker.
                #expect(before.replacing("vault.made=import:other", with: "vault.made=import:cxf") == after)
            }
        }
        #expect(count > 50)
    }

    @Test func `an ssh key goes out in PKCS 8, and comes in as one that asks`() throws {
        let samples = #filePath.replacing("VaultImportTests/CXFExportTests.swift", with: "VaultDoorsTests/SSH/Samples/")
        for name in ["ed25519", "ecdsa256", "ecdsa384", "ecdsa521", "rsa2048", "rsa3072"] {
            let file = try Secret(bytes: Array(Data(contentsOf: URL(filePath: samples + name))))
            let described = try #require(SSHItems.described(file: file, isConfirmed: true))
            let (first, second) = (try CXFSamples.vault(), try CXFSamples.vault())
            try first.add(
                Item(
                    .genericPassword(service: SSHItems.service, account: described.fingerprint),
                    attributes: [.label: .string(name), .comment: "of the laptop"],
                    userAttributes: Dictionary(uniqueKeysWithValues: described.attributes.map { ($0.name, $0.value) }),
                    secret: file))
            var entries = try CXFSamples.entries(first)
            let written = try CXFSamples.export(&entries)
            let credential = try JSONValue(written)["accounts"]?.elements[0]["items"]?.elements[0]["credentials"]
            #expect(credential?.elements.first?["type"]?.text == "ssh-key" && entries.leftOut.isEmpty)
            try CXFSamples.logins(written).stored(in: second, of: "cxf")
            let (before, after) = (try SSHItems(first).listed(), try SSHItems(second).listed())
            #expect(before.map(\.fingerprint) == after.map(\.fingerprint) && after.map(\.comment) == [name])
            #expect(after.map(\.isConfirmed) == [true] && before.map(\.lines) == after.map(\.lines))
            let items = (before[0].item, after[0].item)
            for attribute in [Attribute.itemDescription, .comment] {
                #expect(items.0[attribute]?.text ?? "" == items.1[attribute]?.text ?? "")
            }
            let kept = try #require(try items.1.openedSecret())
            #expect(SSHKeyConversion.exported(file: kept)?.type == described.attributes.first?.value)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault
import VaultCrypto

/// Values of any Codable type: an absent value, a value of another shape and a locked value are distinguished.
struct TypedValueTests {
    private struct Settings: Codable, Equatable, Sendable {
        struct Server: Codable, Equatable { var host: String, port: Int, tags: [String]? }
        var name: String
        var servers: [Server]
        var since: Date
        var key: Data
        var ratio = 0.5
        var limit: UInt64 = .max
    }

    private struct OldSettings: Codable { var title: String }

    private let settings = Settings(
        name: "漢字", servers: [.init(host: "a", port: 1, tags: nil), .init(host: "b", port: 2, tags: ["x"])],
        since: Date(timeIntervalSinceReferenceDate: 1000.25), key: Data([0, 255]))

    @Test(arguments: [ValueEncoding.propertyList, .json])
    func `a value of any shape comes back, a bare number and text too`(_ encoding: ValueEncoding) throws {
        let vault = try Vault.inMemory()
        func comesBack<Value: Codable & Equatable>(_ value: Value) throws -> Bool {
            try vault.set(value, for: "key", encoding: encoding)
            return try vault.value(of: Value.self, for: "key") == value
        }
        #expect(try comesBack(settings) && comesBack(42) && comesBack("text") && comesBack(true) && comesBack([1, 2]))
        #expect(try comesBack(1.25) && comesBack(["a": ["b": [1]]]) && comesBack(Data([1])) && comesBack(UInt64.max))
        #expect(try comesBack(Date(timeIntervalSinceReferenceDate: 7)) && comesBack(Int64.min) && comesBack([String]()))
        let item = try #require(try vault.first(.value("key")))
        #expect(item.userAttributes == ["content-type": encoding.rawValue] && item.service == "values")
        #expect(item.record?.version == 12)
    }

    @Test func `a property list of a bare value is one that other programs read`() throws {
        let vault = try Vault.inMemory()
        try vault.set(42, for: "answer")
        let data = try #require(try vault.first(.value("answer"))?.secretData())
        #expect(try SecretValue(propertyList: data) == 42)
    }

    @Test func `absent is nil, and removing says whether there was one`() throws {
        let vault = try Vault.inMemory()
        #expect(try vault.value(of: Int.self, for: "none") == nil)
        #expect(try !vault.removeValue(for: "none"))
        try vault.set(1, for: "one")
        #expect(try vault.removeValue(for: "one") && vault.value(of: Int.self, for: "one") == nil)
        let key = ItemKey.internetPassword(server: "example.com", account: "settings")
        try vault.set(settings, for: key)
        #expect(try vault.value(for: key) == settings)
    }

    @Test(arguments: [ValueEncoding.propertyList, .json])
    func `another shape is named by its path and never by its content`(_ encoding: ValueEncoding) throws {
        let vault = try Vault.inMemory()
        struct Other: Codable { struct Server: Codable { var host: String, port: String }; var servers: [Server] }
        try vault.set(settings, for: "s", encoding: encoding)
        #expect(throws: VaultError.valueMismatch(path: "servers[0].port")) { try vault.value(of: Other.self, for: "s") }
        #expect(throws: VaultError.valueMismatch(path: "title")) { try vault.value(of: OldSettings.self, for: "s") }
        #expect(throws: VaultError.valueMismatch(path: "")) { try vault.value(of: Int.self, for: "s") }
        try vault.add(Item(.value("raw"), secret: "no value at all"))
        #expect(throws: VaultError.valueMismatch(path: "")) { try vault.value(of: String.self, for: "raw") }
        try vault.add(
            Item(.value("bad"), userAttributes: ["content-type": encoding.rawValue], secret: "bplist00 and no more"))
        #expect(throws: VaultError.valueMismatch(path: "")) { try vault.value(of: String.self, for: "bad") }
        let said = VaultError.valueMismatch(path: "servers[0].port").errorDescription
        #expect(said?.contains("servers[0].port") == true)
    }

    @Test func `a value that the encoding cannot say is refused, and the one before stays`() throws {
        let vault = try Vault.inMemory()
        try vault.set(["a": 1.0], for: "n", encoding: .json)
        #expect(throws: VaultError.valueMismatch(path: "a")) {
            try vault.set(["a": Double.infinity], for: "n", encoding: .json)
        }
        #expect(throws: VaultError.storage(.valueTooLarge)) { try vault.set(Data(count: 16 << 20), for: "n") }
        #expect(try vault.value(of: [String: Double].self, for: "n") == ["a": 1])
    }

    @Test func `an older shape migrates, the first that fits, and a newer one is an error`() throws {
        let vault = try Vault.inMemory()
        let fromOld = ValueMigration(from: OldSettings.self) { [settings] old in
            var new = settings
            new.name = old.title
            return new
        }
        let fromText = ValueMigration(from: String.self) { [settings] text in
            var new = settings
            new.name = text
            return new
        }
        try vault.set(OldSettings(title: "old"), for: "s")
        #expect(try vault.value(for: "s", migrating: fromText, fromOld)?.name == "old")
        try vault.set("text", for: "s")
        #expect(try vault.value(for: "s", migrating: fromText, fromOld)?.name == "text")
        #expect(throws: VaultError.valueMismatch(path: "")) { try vault.value(of: Settings.self, for: "s") }
        try vault.set(["newer": 3], for: "s")
        #expect(throws: VaultError.valueMismatch(path: "name")) {
            try vault.value(for: "s", migrating: fromText, fromOld)
        }
    }

    @Test func `what a migration throws arrives as it was thrown, and leaves what is stored`() throws {
        let vault = try Vault.inMemory()
        struct TooOld: Error, Equatable { let year: Int }
        try vault.set(OldSettings(title: "old"), for: "s")
        let failing = ValueMigration<Settings>(from: OldSettings.self) { _ in throw TooOld(year: 1999) }
        let locked = ValueMigration<Settings>(from: OldSettings.self) { _ in throw VaultError.locked }
        let never = ValueMigration<Settings>(from: [Int].self) { _ in throw TooOld(year: 1) }
        let failure = VaultError.migrationFailed(MigrationFailure(underlying: TooOld(year: 1999)))
        #expect(throws: failure) { try vault.value(for: "s", migrating: never, failing, locked) }
        #expect(throws: VaultError.locked) { try vault.value(for: "s", migrating: locked, failing) }
        #expect(failure != .migrationFailed(MigrationFailure(underlying: TooOld(year: 1))))
        #expect(!(failure.errorDescription ?? "1999").contains("1999"))
        #expect(try vault.value(of: OldSettings.self, for: "s")?.title == "old")
    }

    @Test func `the value of one field is set and read, and the secret and the other fields stay`() throws {
        let test = try TestVault()
        let key = ItemKey.genericPassword(service: "s", account: "a")
        #expect(try test.vault.value(of: Int.self, for: key, field: "n") == nil)
        try test.vault.set(5, for: key, field: "n")
        try test.vault.update(matching: Query(key), with: ItemChanges(secret: "main"))
        try test.vault.set(["a": settings], for: key, field: "settings")
        #expect(try test.vault.value(for: key, field: "n") == 5)
        #expect(try test.vault.value(for: key, field: "settings") == ["a": settings])
        #expect(try test.vault.value(of: Int.self, for: key, field: "none") == nil)
        #expect(try test.vault.first(key)?.secretString() == "main")
        #expect(throws: VaultError.valueMismatch(path: "settings.a.servers[0]")) {
            struct Other: Decodable { var servers: [Int] }
            return try test.vault.value(of: [String: Other].self, for: key, field: "settings")?.count
        }
        struct Counter: StoredFields { @Stored("n") var n = 0 }
        #expect(AccountStore(test.vault, account: "a", of: Counter.self, service: "s").n == 5)
        try test.vault.lock()
        #expect(throws: VaultError.locked) { try test.vault.value(of: Int.self, for: key, field: "n") }
    }

    @Test func `a task sets and reads the value of one field too`() async throws {
        let vault = try Vault.inMemory()
        try await vault.set(["a": settings], for: .value("s"), field: "settings")
        #expect(try await vault.value(for: .value("s"), field: "settings") == ["a": settings])
    }

    @Test func `in a locked vault a value is neither absent nor of another shape`() throws {
        let test = try TestVault()
        try test.vault.set(1, for: "n")
        try test.vault.lock()
        #expect(throws: VaultError.locked) { try test.vault.value(of: Int.self, for: "n") }
        #expect(throws: VaultError.locked) { try test.vault.value(of: String.self, for: "n") }
        #expect(throws: VaultError.locked) { try test.vault.set(2, for: "n") }
    }

    @Test func `data and text go in and out at the edge, and a passphrase comes from a text`() throws {
        let vault = try Vault.inMemory()
        try vault.add(Item(.genericPassword(service: "s"), secret: try Secret(copying: Data([0, 255]))))
        try vault.add(
            Item(
                .genericPassword(service: "t"), secret: try Secret(copying: "té"),
                fields: ["pin": try Secret(copying: "12")]))
        let data = try #require(try vault.first(Query(.genericPassword, service: "s")))
        #expect(try data.secretData() == Data([0, 255]) && data.secretString() == nil)
        let text = try #require(try vault.first(Query(.genericPassword, service: "t")))
        #expect(try text.secretString() == "té" && text.secretString(field: "pin") == "12")
        #expect(try text.secretData(field: "none") == nil)
        #expect(throws: VaultError.storage(.unacceptablePassphrase(.empty))) { try Passphrase("") }
        #expect(try Passphrase("pass word").secret.secretString() == "pass word")
    }
}

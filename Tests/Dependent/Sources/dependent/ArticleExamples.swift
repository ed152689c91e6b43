// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file
import Foundation
import Synchronization
import Vault
import VaultAgent

// The article "Coming from other stores" shows these functions, section by section. The formatter is off
// because it would move their comments.


struct CheckFailed: Error { let line: Int }

func check(_ condition: Bool, line: Int = #line) throws {
    if !condition { throw CheckFailed(line: line) }
}

// UserDefaults

func settings(vault: any ItemStore) throws {
    let defaults = SecureDefaults(suite: "com.example.app", in: vault)
    defaults.register(defaults: ["volume": 0.5])

    try defaults.set("Ada", forKey: "name")
    try defaults.set(true, forKey: "isPro")
    try defaults.set(["a", "b"], forKey: "recent")

    try check(defaults.string(forKey: "name") == "Ada")
    try check(defaults.bool(forKey: "isPro"))
    try check(defaults.stringArray(forKey: "recent") == ["a", "b"])
    try check(defaults.double(forKey: "volume") == 0.5)   // registered, stored nowhere
}

func settingsThatObserve(vault: any ItemStore) async throws {
    let defaults = SecureDefaults(suite: "com.example.app", in: vault)
    let reader = Task {
        for try await theme in defaults.values(forKey: "theme") {   // the current value, then every change
            if theme?.string == "dark" { return true }
        }
        return false
    }
    try defaults.set("dark", forKey: "theme")
    let heard = try await reader.value
    try check(heard)                           // no observer to remove: the loop ended and its subscription with it
}

// Property lists

func list(vault: any ItemStore) throws {
    let file = try PropertyListSerialization.data(
        fromPropertyList: ["servers": [["host": "a", "port": "8080"]], "名前": "漢字"], format: .xml, options: 0)
    let imported = try SecretValue(propertyList: file)

    try check(imported["servers"][0]["port"].lenientInt == 8080)   // lenient; the exact .int is nil for a text
    try check(imported["servers"][7]["port"].isNull)               // never a trap

    let defaults = SecureDefaults(suite: "config", in: vault)
    try defaults.transaction { draft in
        for (key, value) in imported.dictionary ?? [:] { draft.set(value, forKey: key) }
    }
    let exported = try SecretValue.dictionary(defaults.ownValues()).propertyList(.xml)
    try check(SecretValue(propertyList: exported) == imported)
}

struct Profile: StoredFields {
    static let service = "com.example.profile" // by default the type's name
    @Stored("email") var email: String?
    @Stored("visits") var visits = 0
}

func account(vault: any ItemStore) throws {
    let account = AccountStore(vault, account: "ada", of: Profile.self)
    account.email = "ada@example.com"          // durable when this returns: there is no save to forget
    account.email = nil                        // a null removes the field and never crashes

    try account.save { profile in              // several changes as one; failures are thrown
        profile.email = "ada@example.org"
        profile.visits += 1                    // atomic, also with concurrent writers
    }
    account.account = "bob"                    // switches the account
    try check(account.email == nil)
    account.account = "ada"
    try check(account.read { ($0.email, $0.visits) } == ("ada@example.org", 1))
}

// Core Data and Realm

struct Dog: Codable, Equatable, Sendable {
    var name: String
    var age: Int
    var tags: [String] = []
}

struct OldDog: Codable { var called: String }

func objects(vault: any ItemStore) throws {
    try vault.set(Dog(name: "Rex", age: 3), for: "rex")
    try check(vault.value(of: Dog.self, for: "rex")?.age == 3)
    try check(vault.value(of: Dog.self, for: "none") == nil)      // absent is nil; every other failure is thrown

    try vault.set(OldDog(called: "Bo"), for: "bo")                       // as written by an older version
    let migration = ValueMigration(from: OldDog.self) { Dog(name: $0.called, age: 0) }
    try check(vault.value(for: "bo", migrating: migration) == Dog(name: "Bo", age: 0))
}

func history(vault: Vault) throws {
    try vault.setHistoryLimit(5)
    try vault.set(Dog(name: "Rex", age: 3), for: "old")
    try vault.set(Dog(name: "Rex", age: 4), for: "old")

    let record = try vault.first(.value("old"))?.record
    if let record { try vault.undo(record) }                             // old versions are kept
    try check(vault.value(of: Dog.self, for: "old")?.age == 3)
}

func live(vault: any ItemStore) async throws {
    let reader = Task {                                                  // the current results, then every change
        for try await dogs in vault.results(matching: Query(.genericPassword, service: "dogs")) {
            if dogs.count == 2 { return dogs.compactMap(\.account) }
        }
        return []
    }
    for name in ["Rex", "Bo"] {
        try await vault.set(Dog(name: name, age: 1), for: .genericPassword(service: "dogs", account: name))
    }
    try check(await reader.value == ["Rex", "Bo"])
}

// SQLite

func rows(vault: any ItemStore) throws {
    let people = [("ada", "London", "1815"), ("grace", "New York", "1906"), ("李", "北京", "1958")]
    try vault.store(
        try people.map { name, city, born in
            Item(
                .genericPassword(service: "people", account: name), attributes: [.label: .string(city)],
                userAttributes: ["born": born], secret: try Secret(copying: "the secret of \(name)"))
        }, replacing: true)                                             // one transaction, one sync

    // SELECT * FROM people WHERE city = '北京'
    let found = try vault.copyMatching(Query(.genericPassword, service: "people", label: "北京"))
    try check(found.map(\.account) == ["李"])
    try check(found[0].secretString() == "the secret of 李")      // compared byte for byte, in every script

    // SELECT … WHERE born = '1906'; UPDATE …; DELETE …
    let born = Query(.genericPassword, service: "people", userAttributes: ["born": "1906"])
    try check(vault.update(matching: born, with: ItemChanges(attributes: [.comment: "Hopper"])) == 1)
    try check(vault.delete(matching: Query(.genericPassword, service: "people")) == 3)
}

func changeOfOne(vault: Vault, path: FilePath) throws {
    for number in 0..<500 { try vault.set(number, for: "row \(number)") }
    let before = try FileManager.default.attributesOfItem(atPath: path.string)[.size] as? Int ?? 0
    try vault.set(0, for: "row 250")
    let after = try FileManager.default.attributesOfItem(atPath: path.string)[.size] as? Int ?? 0
    try check(after - before < 4096)                                  // one row is written, not the whole file
}

enum Articles {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        let passphrase = try Passphrase(Home.passphrase)
        let path = FilePath(home.vault)
        let vault = try Vault.open(at: path, unlockingWith: passphrase)
        try all(vault)
        try history(vault: vault)
        try changeOfOne(vault: vault, path: path)
        vault.close()
        try command.run(["agent"], in: home)
        defer { _ = try? command.run(["agent", "--stop"], in: home) }
        guard let client = try AgentClient(vault: path, accessGroups: ["articles"]) else { return ["no agent"] }
        try all(client)
        return []
    }

    private static func all(_ vault: any ItemStore) throws {
        try settings(vault: vault)
        try list(vault: vault)
        try account(vault: vault)
        try objects(vault: vault)
        try rows(vault: vault)
        try waiting { try await settingsThatObserve(vault: vault) }
        try waiting { try await live(vault: vault) }
    }

    /// Runs an asynchronous task from synchronous code and waits for its end.
    private static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Void, any Error>>(.success(()))
        Task {
            do { try await body() } catch { result.withLock { $0 = .failure(error) } }
            done.signal()
        }
        done.wait()
        try result.withLock { $0 }.get()
    }
}

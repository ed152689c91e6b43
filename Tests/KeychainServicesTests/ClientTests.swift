// SPDX-License-Identifier: Apache-2.0
import Foundation
import Security
import TestSupport
import Testing
import Vault
import VaultStorage

extension SecItemTests {
    /// Client code in the usual styles for Apple's systems, verbatim.
    @Suite struct ClientTests {
        @Test func `a subscript wrapper keeps, replaces and removes strings`() throws {
            try bindEmptyVault()
            let keychain = SubscriptKeychain(service: "com.example.app")
            #expect(keychain["token"] == nil)
            keychain["token"] = "first"
            keychain["token"] = "second"
            keychain["other"] = "é 🔑\n"
            #expect(keychain["token"] == "second" && keychain["other"] == "é 🔑\n")
            #expect(SubscriptKeychain(service: "another")["token"] == nil)
            keychain["token"] = nil
            #expect(keychain["token"] == nil && keychain.accounts == ["other"])
        }

        @Test func `a property wrapper keeps a Codable value`() throws {
            try bindEmptyVault()
            let settings = Settings()
            #expect(settings.session == nil)
            settings.session = Session(user: "ada", expires: Date(timeIntervalSince1970: 1_800_000_000))
            #expect(Settings().session == Session(user: "ada", expires: Date(timeIntervalSince1970: 1_800_000_000)))
            settings.session = nil
            #expect(Settings().session == nil)
        }

        @Test func `saving by deleting and adding leaves one item`() throws {
            try bindEmptyVault()
            let store = PasswordStore()
            #expect(store.load(server: "example.com", account: "ada") == .failure(errSecItemNotFound))
            for password in ["one", "two", "three"] {
                #expect(store.save(password, server: "example.com", account: "ada") == errSecSuccess)
            }
            #expect(store.load(server: "example.com", account: "ada") == .success("three"))
            #expect(store.count(server: "example.com") == 1)
        }

        @Test func `a device's identifier is the same after the application was installed again`() throws {
            let directory = try TemporaryDirectory()
            let path = directory.path.appending("v")
            let environment = VaultEnvironment.seeded(
                "device", clock: SystemClock(), state: directory.path.appending("state"))
            Vault.setDefault(
                try Vault.create(at: path, passphrase: .of("pass"), cost: .weakest, environment: environment))
            let first = DeviceIdentifier.current()
            #expect(first == DeviceIdentifier.current())
            // Reinstalling removes the application's own data; the vault is not part of it.
            Vault.setDefault(try Vault.open(at: path, unlockingWith: .of("pass"), environment: environment))
            #expect(DeviceIdentifier.current() == first)
        }

        @Test func `first calls of many threads agree on one identifier`() throws {
            try bindEmptyVault()
            let found = Found()
            try atOnce(16) { _ in found.insert(DeviceIdentifier.current()) }
            #expect(found.count == 1)
        }

        @Test func `a query may be any dictionary that Swift bridges`() throws {
            try bindEmptyVault()
            #expect(
                SecItemAdd(
                    [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a", kSecValueData: Data("x".utf8)]
                        as CFDictionary, nil)
                    == errSecSuccess)
            let queries: [CFDictionary] = [
                [kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a"] as [String: Any]
                    as CFDictionary,
                [kSecClass: kSecClassGenericPassword, kSecReturnData: true] as [CFString: Any] as CFDictionary,
                [kSecClass as String: kSecClassGenericPassword] as [String: AnyObject] as CFDictionary,
                [kSecClass as String: kSecClassGenericPassword] as [String: AnyHashable] as CFDictionary,
                [kSecClass: kSecClassGenericPassword] as [NSString: AnyObject] as CFDictionary,
                [kSecClass: kSecClassGenericPassword] as [AnyHashable: Any] as CFDictionary,
                [kSecClass as String: kSecClassGenericPassword as String, kSecReturnData as String: kCFBooleanTrue!]
                    as CFDictionary,
                NSDictionary(objects: [kSecClassGenericPassword], forKeys: [kSecClass]),
            ]
            for query in queries { #expect(SecItemCopyMatching(query, nil) == errSecSuccess) }
            let mutable = NSMutableDictionary()
            mutable.setValue(kSecClassGenericPassword, forKey: kSecClass as String)
            mutable[kSecReturnData] = kCFBooleanTrue
            var result: AnyObject?
            let status = withUnsafeMutablePointer(to: &result) {
                SecItemCopyMatching(mutable, UnsafeMutablePointer($0))
            }
            #expect(status == errSecSuccess && result as? Data == Data("x".utf8))
            mutable.setValue(nil, forKey: kSecReturnData as String)
            #expect(mutable.count == 1)
        }

        @Test func `a set of keys holds a string and a constant of the same text once`() {
            #expect(Set<AnyHashable>([kSecAttrAccount, "acct", "acct" as NSString]).count == 1)
        }
    }
}

// MARK: Clients

private struct SubscriptKeychain {
    let service: String

    subscript(account: String) -> String? {
        get {
            var query = self.query(account)
            query[kSecReturnData as String] = kCFBooleanTrue
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess else { return nil }
            return (result as? Data).flatMap { String(data: $0, encoding: .utf8) }
        }
        nonmutating set {
            guard let newValue else {
                SecItemDelete(query(account) as CFDictionary)
                return
            }
            let attributes: [String: Any] = [kSecValueData as String: Data(newValue.utf8)]
            if SecItemUpdate(query(account) as CFDictionary, attributes as CFDictionary) == errSecItemNotFound {
                SecItemAdd(query(account).merging(attributes) { $1 } as CFDictionary, nil)
            }
        }
    }

    var accounts: [String] {
        let query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecMatchLimit as String: kSecMatchLimitAll, kSecReturnAttributes as String: true,
        ]
        var result: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
            let items = result as? [[String: Any]]
        else {
            return []
        }
        return items.compactMap { $0[kSecAttrAccount as String] as? String }
    }

    private func query(_ account: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
        ]
    }
}

@propertyWrapper private struct Keychained<Value: Codable> {
    let key: String

    private var query: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: "settings", kSecAttrAccount: key]
    }

    var wrappedValue: Value? {
        get {
            var result: CFTypeRef?
            let query = self.query.merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne]) { $1 }
            guard SecItemCopyMatching(query as CFDictionary, &result) == noErr, let data = result as? Data else {
                return nil
            }
            return try? JSONDecoder().decode(Value.self, from: data)
        }
        nonmutating set {
            SecItemDelete(query as CFDictionary)
            guard let newValue, let data = try? JSONEncoder().encode(newValue) else { return }
            SecItemAdd(
                query.merging([kSecValueData: data, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]) { $1 }
                    as CFDictionary, nil)
        }
    }
}

private struct Session: Codable, Equatable {
    var user: String
    var expires: Date
}

private struct Settings {
    @Keychained(key: "session") var session: Session?
}

private final class PasswordStore {
    enum Outcome: Equatable {
        case success(String)
        case failure(OSStatus)
    }

    private func query(_ server: String, _ account: String?) -> [String: AnyObject] {
        var query = [String: AnyObject]()
        query[kSecClass as String] = kSecClassInternetPassword
        query[kSecAttrServer as String] = server as AnyObject
        query[kSecAttrProtocol as String] = kSecAttrProtocolHTTPS
        if let account { query[kSecAttrAccount as String] = account as AnyObject }
        return query
    }

    func save(_ password: String, server: String, account: String) -> OSStatus {
        var item = query(server, account)
        SecItemDelete(item as CFDictionary)
        item[kSecValueData as String] = password.data(using: .utf8)! as AnyObject
        return SecItemAdd(item as CFDictionary, nil)
    }

    func load(server: String, account: String) -> Outcome {
        var search = query(server, account)
        search[kSecMatchLimit as String] = kSecMatchLimitOne
        search[kSecReturnAttributes as String] = kCFBooleanTrue
        search[kSecReturnData as String] = kCFBooleanTrue
        var queryResult: AnyObject?
        let status = withUnsafeMutablePointer(to: &queryResult) {
            SecItemCopyMatching(search as CFDictionary, UnsafeMutablePointer($0))
        }
        guard status == noErr else { return .failure(status) }
        guard let existing = queryResult as? [String: AnyObject], let data = existing[kSecValueData as String] as? Data,
            let password = String(data: data, encoding: .utf8),
            existing[kSecAttrAccount as String] as? String == account
        else { return .failure(errSecDecode) }
        return .success(password)
    }

    func count(server: String) -> Int {
        var search = query(server, nil)
        search[kSecMatchLimit as String] = kSecMatchLimitAll
        search[kSecReturnPersistentRef as String] = kCFBooleanTrue
        var result: CFTypeRef?
        return SecItemCopyMatching(search as CFDictionary, &result) == noErr ? (result as? [Data])?.count ?? 0 : 0
    }
}

private enum DeviceIdentifier {
    static func current() -> UUID? {
        let query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "com.example.player.device",
            kSecAttrAccount as String: "identifier",
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock,
        ]
        if let known = read(query) { return known }
        let made = UUID()
        let status = SecItemAdd(
            query.merging([kSecValueData as String: Data(made.uuidString.utf8)]) { $1 } as CFDictionary, nil)
        // Another thread or process added the item first.
        return status == errSecDuplicateItem ? read(query) : status == errSecSuccess ? made : nil
    }

    private static func read(_ query: [String: Any]) -> UUID? {
        var result: CFTypeRef?
        guard
            SecItemCopyMatching(query.merging([kSecReturnData as String: true]) { $1 } as CFDictionary, &result)
                == errSecSuccess,
            let data = result as? Data, let text = String(data: data, encoding: .utf8)
        else { return nil }
        return UUID(uuidString: text)
    }
}

private final class Found: @unchecked Sendable {
    private let lock = NSLock()
    private var identifiers: Set<UUID?> = []

    func insert(_ identifier: UUID?) { lock.withLock { _ = identifiers.insert(identifier) } }

    var count: Int { lock.withLock { identifiers.count } }
}

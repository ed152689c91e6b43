// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import Vault

// An application's own defaults over a single archive, as applications write them: a dictionary in memory, archived
// whole when synchronized. The archive is an item of the vault: authenticated, whole after a crash, and foreign classes
// in it are an error for the reader.

final class MyUserDefault {
    private let name: String
    private let lock = NSLock()
    private var dictionary: NSMutableDictionary

    init(_ name: String) throws {
        self.name = name
        dictionary =
            try SecureArchive.object(of: NSMutableDictionary.self, allowing: Self.classes, service: name)
            ?? NSMutableDictionary()
    }

    private static let classes: [AnyClass] = [
        NSString.self, NSNumber.self, NSArray.self, NSDictionary.self, NSDate.self, NSData.self,
    ]

    func set(_ object: Any?, forKey key: String) {
        lock.withLock { dictionary[key] = object }
    }

    func object(forKey key: String) -> Any? { lock.withLock { dictionary[key] } }
    func string(forKey key: String) -> String? { object(forKey: key) as? String }
    func integer(forKey key: String) -> Int { object(forKey: key) as? Int ?? 0 }
    func bool(forKey key: String) -> Bool { object(forKey: key) as? Bool ?? false }

    func synchronize() throws { try lock.withLock { try SecureArchive.set(dictionary, service: name) } }
}

enum MyUserDefaultProgram {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        Vault.setDefault(nil)
        defer { Vault.setDefault(nil) }
        var failures = Failures()
        let defaults = try MyUserDefault("com.example.defaults")
        defaults.set("漢字", forKey: "name")
        defaults.set(5, forKey: "count")
        defaults.set(true, forKey: "isOn")
        defaults.set(["a", 1, ["k": Date(timeIntervalSinceReferenceDate: 5)]] as [Any], forKey: "list")
        defaults.set("gone", forKey: "gone")
        defaults.set(nil, forKey: "gone")
        try defaults.synchronize()

        let again = try MyUserDefault("com.example.defaults")
        try expect(again.string(forKey: "name") == "漢字" && again.integer(forKey: "count") == 5, &failures)
        try expect(again.bool(forKey: "isOn") && again.object(forKey: "gone") == nil, &failures)
        let list = again.object(forKey: "list") as? [Any]
        try expect(list?.count == 3 && list?.first as? String == "a", &failures)
        // An object that such an archive cannot contain leaves the previous archive in place.
        defaults.set(NSArray(array: [ArchivedPerson(name: "Ada", age: 36)]), forKey: "person")
        do {
            try defaults.synchronize()
            failures.note("an object without secure coding was archived")
        } catch SecureArchiveError.notEncodable {}
        try expect(try MyUserDefault("com.example.defaults").string(forKey: "name") == "漢字", &failures)
        // An alternative to the class: the same settings, each an item of its own.
        let secure = SecureDefaults(suite: "com.example.settings", in: try Vault.openDefault())
        try secure.set(any: ["a", 1, true] as [Any], forKey: "list")
        try expect(try secure.array(forKey: "list") == ["a", 1, true], &failures)
        let suites = try command.run(["find"], in: home)
        try expect(suites.contains("com.example.defaults") && suites.contains("com.example.settings"), &failures)
        return failures.all
    }
}

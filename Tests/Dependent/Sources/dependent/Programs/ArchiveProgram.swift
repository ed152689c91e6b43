// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import Vault

// Objects with `encode(with:)` and `init(coder:)`, of plain NSCoding, archived as an array, as older applications write
// such classes. The archive and the text, formerly files, are items of the vault.

final class ArchivedPerson: NSObject, NSCoding {
    var name: String
    var age: Int

    init(name: String, age: Int) {
        self.name = name
        self.age = age
    }

    func encode(with aCoder: NSCoder) {
        aCoder.encode(name, forKey: "name")
        aCoder.encode(age, forKey: "age")
    }

    required init?(coder aDecoder: NSCoder) {
        name = aDecoder.decodeObject(forKey: "name") as? String ?? ""
        age = aDecoder.decodeInteger(forKey: "age")
    }
}

enum ArchiveProgram {
    static func run(_ command: Command) throws -> [String] {
        let home = try Home(withVaultOf: command)
        Vault.setDefault(nil)
        defer { Vault.setDefault(nil) }
        var failures = Failures()
        let people = [ArchivedPerson(name: "Ada", age: 36), ArchivedPerson(name: "漢字", age: 5)]
        let key = ItemKey.genericPassword(service: "com.example.people", account: "people.data")
        var vault = try Vault.openDefault()
        let data = try NSKeyedArchiver.archivedData(withRootObject: people, requiringSecureCoding: false)
        try vault.set(Item(key, secret: try Secret(copying: data)))
        // A text that an application wrote to a file atomically.
        try vault.set("安全", for: "text")
        vault.close()

        vault = try Vault.openDefault()
        guard let stored = try vault.first(key)?.secretData() else { return ["there is no archive"] }
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: stored)
        unarchiver.requiresSecureCoding = false
        let back = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey) as? [ArchivedPerson] ?? []
        try expect(back.map(\.name) == ["Ada", "漢字"] && back.map(\.age) == [36, 5], &failures)
        try expect(try vault.value(for: "text") == "安全", &failures)

        // Without secure coding the classes in an archive cannot be restricted.
        do {
            try SecureArchive.set(NSArray(array: people), service: "com.example.people")
            failures.note("an object without secure coding was archived")
        } catch { try expect(error == .notEncodable, &failures) }
        // With one value per object, a changed object is one written item.
        struct Person: Codable, Equatable { var name: String, age: Int }
        for person in people {
            try vault.set(
                Person(name: person.name, age: person.age), for: .genericPassword(service: "p", account: person.name))
        }
        try vault.set(Person(name: "Ada", age: 37), for: .genericPassword(service: "p", account: "Ada"))
        try expect(
            try vault.value(for: .genericPassword(service: "p", account: "漢字")) == Person(name: "漢字", age: 5), &failures
        )
        let listed = try command.run(["find", "--service", "p"], in: home)
        try expect(listed.split(separator: "\n").count == 2, &failures)
        return failures.all
    }
}

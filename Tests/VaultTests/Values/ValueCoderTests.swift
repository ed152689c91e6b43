// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault

/// The encoding and decoding of values of any Codable type: no value becomes nil, and nil becomes nothing else.
struct ValueCoderTests {
    private struct Names: Codable, Equatable, Sendable {
        var names: [String?]
        var text: String?
        var plain = ""
    }

    private static let marked = Names(names: ["$null", nil, "a"], text: "$null", plain: "$null")

    private func comesBack<Value: Codable & Equatable>(_ value: Value) throws -> Bool {
        let vault = try Vault.inMemory()
        try vault.set(value, for: "key")
        return try vault.value(of: Value.self, for: "key") == value
    }

    @Test func `the text $null is a text, and nil is nil, wherever they stand`() throws {
        #expect(try comesBack(Self.marked) && comesBack(Names(names: [nil])))
        #expect(try comesBack("$null") && comesBack("$null" as String?) && comesBack(nil as String?))
        #expect(try comesBack(["$null": "$null"]) && comesBack([nil, "$null"] as [String?]))
        #expect(try comesBack(["a": nil, "b": "$null"] as [String: String?]))
    }

    @Test func `a field and a setting keep the text $null apart from nil`() throws {
        struct Profile: StoredFields {
            @Stored("name") var name: String?
            @Stored("names") var names: [String?] = []
        }
        let vault = try Vault.inMemory()
        let ada = AccountStore(vault, account: "ada", of: Profile.self, service: "people")
        try ada.save { profile in
            profile.name = "$null"
            profile.names = ["$null", nil]
        }
        #expect(try ada.read { ($0.name, $0.names) } == ("$null", ["$null", nil]))
        let defaults = SecureDefaults(suite: "app", in: vault)
        try defaults.set(encoding: Self.marked, forKey: "names")
        try defaults.set("$null", forKey: "text")
        #expect(try defaults.value(forKey: "names") == Self.marked && defaults.string(forKey: "text") == "$null")
        #expect(try defaults.value(forKey: "names")?["names"][1] == .null)
    }

    @Test func `a value that Foundation's encoder wrote has nil where it had nil, and every text is readable`() throws {
        let vault = try Vault.inMemory()
        func old(_ base64: String) throws {
            try vault.set(
                Item(
                    .value("old"), userAttributes: ["content-type": "application/x-plist"],
                    secret: Secret(copying: try #require(Data(base64Encoded: base64)))))
        }
        try old("YnBsaXN0MDChAaICA1UkbnVsbFFhCAoNEwAAAAAAAAEBAAAAAAAAAAQAAAAAAAAAAQAAAAAAAAAV")
        #expect(try vault.value(for: "old") == [nil, "a"] as [String?])
        try old(
            "YnBsaXN0MDChAdMCAwQFCAlVbmFtZXNUdGV4dFVwbGFpbqIGB1UkbnVsbFFhUWJVJG51bGwIChEXHCIlKy0vAAAAAAAAAQEAAAAAAAAA"
                + "CgAAAAAAAAABAAAAAAAAADU=")
        #expect(try vault.value(for: "old") == Names(names: [nil, "a"], text: "b", plain: "$null"))
        try old("YnBsaXN0MDChAVUkbnVsbAgKAAAAAAAAAQEAAAAAAAAAAgAAAAAAAAABAAAAAAAAABA=")
        #expect(try vault.value(of: String?.self, for: "old") == .some(nil))
        #expect(try vault.value(of: String.self, for: "old") == "$null")
        try old("YnBsaXN0MDChAaECoQNVJG51bGwICgwOAAAAAAAAAQEAAAAAAAAABAAAAAAAAAABAAAAAAAAABQ=")
        #expect(try vault.value(for: "old") == [[nil]] as [[String?]])
    }

    // MARK: Every shape that Codable has

    private class Animal: Codable {
        var name = "Rex"
        enum Keys: String, CodingKey { case name }
        init() {}
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(name, forKey: .name)
        }
        required init(from decoder: any Decoder) throws {
            name = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .name)
        }
    }

    private final class Dog: Animal {
        var age = 3
        var points: [[Int]] = [[1, 2], []]
        enum DogKeys: String, CodingKey { case age, points, inner }
        override init() { super.init() }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: DogKeys.self)
            try super.encode(to: container.superEncoder())
            var rows = container.nestedUnkeyedContainer(forKey: .points)
            for row in points { try rows.encode(row) }
            // Filled after the enclosing container was used further.
            var inner = container.nestedContainer(keyedBy: DogKeys.self, forKey: .inner)
            try container.encodeNil(forKey: .points)
            rows = container.nestedUnkeyedContainer(forKey: .points)
            for row in points { try rows.encode(row) }
            try inner.encode(age, forKey: .age)
        }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: DogKeys.self)
            let inner = try container.nestedContainer(keyedBy: DogKeys.self, forKey: .inner)
            age = try inner.decode(Int.self, forKey: .age)
            var rows = try container.nestedUnkeyedContainer(forKey: .points)
            points = []
            while !rows.isAtEnd { points.append(try rows.decode([Int].self)) }
            try super.init(from: container.superDecoder())
        }
    }

    private enum Shape: Codable, Equatable { case dot, circle(radius: Double), pair(Int, String?) }

    private struct All: Codable, Equatable {
        var shapes: [Shape] = [.dot, .circle(radius: .pi), .pair(1, nil), .pair(2, "$null")]
        var numbers: [Int: String] = [1: "a", -2: "b"]
        var small: (Int8, UInt8) { (.min, .max) }
        var bytes: [UInt8] = [0, 255]
        var single: Float = 0.1
        var url = URL(string: "https://example.com/é")
        var id = UUID()
        var nested: [[String: [Date?]]] = [["d": [Date(timeIntervalSinceReferenceDate: 0.125), nil]]]
        var infinite = -Double.infinity
        var wide: Set<UInt64> = [.max, 0]
        var decimal = Decimal(string: "1.5")
    }

    @Test func `classes with classes above them, enums, sets and numbers of every width come back`() throws {
        #expect(try comesBack(All()))
        let vault = try Vault.inMemory()
        let dog = Dog()
        (dog.name, dog.age) = ("Bo", 5)
        try vault.set(dog, for: "dog")
        let back = try #require(try vault.value(of: Dog.self, for: "dog"))
        #expect(back.name == "Bo" && back.age == 5 && back.points == [[1, 2], []])
    }

    @Test func `a number fits where it is the same number, and is refused elsewhere`() throws {
        let vault = try Vault.inMemory()
        try vault.set(300, for: "n")
        #expect(try vault.value(of: Double.self, for: "n") == 300)
        #expect(throws: VaultError.valueMismatch(path: "")) { try vault.value(of: UInt8.self, for: "n") }
        try vault.set([1e300, 2.0], for: "n")
        #expect(throws: VaultError.valueMismatch(path: "[0]")) { try vault.value(of: [Float].self, for: "n") }
        #expect(throws: VaultError.valueMismatch(path: "[0]")) { try vault.value(of: [Int].self, for: "n") }
        try vault.set([2.0], for: "n")
        #expect(try vault.value(of: [Int].self, for: "n") == [2])
        #expect(throws: VaultError.valueMismatch(path: "[0]")) { try vault.value(of: [Bool].self, for: "n") }
        #expect(throws: VaultError.valueMismatch(path: "[0]")) { try vault.value(of: [String].self, for: "n") }
    }

    private struct Deep: Encodable {
        var rest: Int
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if rest > 0 { try container.encode(Deep(rest: rest - 1)) }
        }
    }

    private struct Wrapped: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(Wrapped())
        }
    }

    private struct Contradiction: Encodable {
        func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            try list.encode(1)
            var members = encoder.container(keyedBy: Keys.self)
            try members.encode(1, forKey: .a)
        }
        enum Keys: String, CodingKey { case a }
    }

    @Test func `a value without end, and one of two shapes at once, are errors and end no process`() throws {
        let vault = try Vault.inMemory()
        try vault.set(Deep(rest: 100), for: "n")
        #expect(throws: VaultError.valueMismatch(path: "")) { try vault.set(Deep(rest: 100_000), for: "n") }
        #expect(throws: VaultError.valueMismatch(path: "")) { try vault.set(Wrapped(), for: "n") }
        #expect(throws: VaultError.valueMismatch(path: "")) { try vault.set(Contradiction(), for: "n") }
        #expect(throws: VaultError.valueMismatch(path: "[0]")) { try vault.set([Contradiction()], for: "n") }
    }
}

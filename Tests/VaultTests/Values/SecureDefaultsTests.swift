// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault

/// Settings by key: the answers of `UserDefaults`, and an error where that class is silent.
struct SecureDefaultsTests {
    @Test func `what cannot be read is an error and no default`() throws {
        let test = try TestVault()
        let defaults = SecureDefaults(suite: "app", in: test.vault)
        try defaults.set(1, forKey: "n")
        try test.vault.add(Item(.genericPassword(service: "app", account: "raw"), secret: "no value"))
        #expect(throws: VaultError.valueMismatch(path: "")) { try defaults.integer(forKey: "raw") }
        #expect(throws: VaultError.valueMismatch(path: "")) { try defaults.dictionaryRepresentation() }
        #expect(throws: VaultError.valueMismatch(path: "a")) {
            try defaults.set(["a": .date(Date(timeIntervalSinceReferenceDate: .infinity))], forKey: "d")
        }
        try test.vault.lock()
        #expect(throws: VaultError.locked) { try defaults.integer(forKey: "n") }
        #expect(throws: VaultError.locked) { try defaults.set(2, forKey: "n") }
        test.vault.close()
        #expect(throws: VaultError.closed) { try defaults.set(2, forKey: "n") }
    }

    @Test func `typed getters convert as those of UserDefaults do, and say zero, false and nil of nothing`() throws {
        let defaults = SecureDefaults(suite: "app", in: try Vault.inMemory())
        #expect(try defaults.integer(forKey: "x") == 0 && defaults.double(forKey: "x") == 0)
        #expect(
            try !defaults.bool(forKey: "x") && defaults.string(forKey: "x") == nil && defaults.url(forKey: "x") == nil)
        #expect(try defaults.data(forKey: "x") == nil && defaults.array(forKey: "x") == nil)
        try defaults.set("12", forKey: "text")
        try defaults.set(true, forKey: "bool")
        try defaults.set(2.5, forKey: "real")
        try defaults.set(7, forKey: "int")
        #expect(try defaults.integer(forKey: "text") == 12 && defaults.double(forKey: "text") == 12)
        #expect(try defaults.integer(forKey: "bool") == 1 && defaults.bool(forKey: "bool"))
        #expect(try defaults.string(forKey: "int") == "7" && defaults.double(forKey: "int") == 7)
        #expect(try defaults.float(forKey: "real") == 2.5 && defaults.integer(forKey: "real") == 0)
        let (date, url) = (Date(timeIntervalSinceReferenceDate: 5), try #require(URL(string: "https://example.com/é")))
        try defaults.set(date, forKey: "date")
        try defaults.set(url, forKey: "url")
        try defaults.set(Data([1, 0]), forKey: "data")
        try defaults.set(["a", "b"], forKey: "strings")
        try defaults.set(["a", 1], forKey: "mixed")
        try defaults.set(["k": nil, "l": [nil, "漢字"]], forKey: "nulls")
        #expect(try defaults.date(forKey: "date") == date && defaults.url(forKey: "url") == url)
        #expect(try defaults.data(forKey: "data") == Data([1, 0]))
        #expect(
            try defaults.stringArray(forKey: "strings") == ["a", "b"] && defaults.stringArray(forKey: "mixed") == nil)
        #expect(try defaults.value(forKey: "nulls") == ["k": nil, "l": [nil, "漢字"]])
        struct Point: Codable, Equatable { var x: Int, y: Double? }
        try defaults.set(encoding: Point(x: 1, y: nil), forKey: "point")
        #expect(try defaults.value(of: Point.self, forKey: "point") == Point(x: 1, y: nil))
        #expect(throws: VaultError.valueMismatch(path: "x")) {
            try defaults.set(["y": 1.0], forKey: "point")
            _ = try defaults.value(of: Point.self, forKey: "point")
        }
    }

    @Test func `the suite comes first, then others in order, then what was registered`() throws {
        let vault = try Vault.inMemory()
        let defaults = SecureDefaults(suite: "app", in: vault)
        let (second, third) = (SecureDefaults(suite: "second", in: vault), SecureDefaults(suite: "third", in: vault))
        defaults.register(defaults: ["a": 0, "b": 0, "c": 0, "d": 0])
        try third.set(3, forKey: "a")
        try third.set(3, forKey: "b")
        try third.set(3, forKey: "c")
        try second.set(2, forKey: "a")
        try second.set(2, forKey: "b")
        try defaults.set(1, forKey: "a")
        defaults.addSuite(named: "second")
        defaults.addSuite(named: "third")
        func values() throws -> [Int] { try ["a", "b", "c", "d"].map { try defaults.integer(forKey: $0) } }
        #expect(try values() == [1, 2, 3, 0])
        #expect(try defaults.dictionaryRepresentation() == ["a": 1, "b": 2, "c": 3, "d": 0])
        try defaults.removeValue(forKey: "a")
        defaults.removeSuite(named: "second")
        #expect(try values() == [3, 3, 3, 0] && defaults.ownValues().isEmpty)
        // Registered defaults are not stored.
        #expect(try vault.copyMatching(Query(.genericPassword)).count == 5)
        try second.removeAll()
        #expect(try second.ownValues().isEmpty && third.ownValues().count == 3)
    }

    @Test func `a transaction sets and removes as one, or nothing`() throws {
        let vault = try Vault.inMemory()
        let defaults = SecureDefaults(suite: "app", in: vault)
        try defaults.set("old", forKey: "gone")
        let before = try vault.sequence
        try defaults.transaction { draft in
            draft.set(1, forKey: "a")
            draft.set(2, forKey: "b")
            draft.removeValue(forKey: "gone")
            draft.removeValue(forKey: "never there")
        }
        #expect(try vault.sequence == before + 1 && defaults.ownValues() == ["a": 1, "b": 2])
        #expect(throws: VaultError.valueMismatch(path: "x")) {
            try defaults.transaction { draft in
                draft.set(9, forKey: "a")
                draft.set(["x": .date(Date(timeIntervalSinceReferenceDate: .nan))], forKey: "c")
            }
        }
        struct Abort: Error {}
        #expect(throws: Abort.self) {
            try defaults.transaction { draft in
                draft.set(9, forKey: "a")
                throw Abort()
            }
        }
        #expect(try defaults.ownValues() == ["a": 1, "b": 2])
    }

    @Test func `a suite that two processes change at once has what each of them set`() async throws {
        let test = try TestVault(groups: .standard, waits: true)
        let suites = [test.vault, try test.reopened(groups: .standard)].map { SecureDefaults(suite: "app", in: $0) }
        let threads = suites.enumerated().map { number, defaults in
            Worker<Void> {
                for index in 0..<50 {
                    do {
                        try defaults.set(index, forKey: "\(number) \(index)")
                        try defaults.set(number, forKey: "shared")
                    } catch { Issue.record("\(error)") }
                }
            }
        }
        for thread in threads { try thread.value() }
        for defaults in suites { #expect(try defaults.ownValues().count == 101) }
    }

    @Test func `values of a key come as they change, from whichever handle`() async throws {
        let test = try TestVault(groups: .standard, waits: true)
        let defaults = SecureDefaults(suite: "app", in: test.vault)
        let other = SecureDefaults(suite: "app", in: try test.reopened(groups: .standard))
        var values = defaults.values(forKey: "n").makeAsyncIterator()
        #expect(try await values.next() == .some(nil))
        try other.set(1, forKey: "n")
        #expect(try await values.next() == 1)
        try other.set("unrelated", forKey: "m")
        try defaults.set(2, forKey: "n")
        #expect(try await values.next() == 2)
        try other.removeValue(forKey: "n")
        #expect(try await values.next() == .some(nil))
        test.vault.close()
        await #expect(throws: VaultError.closed) { _ = try await values.next() }
    }
}

// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault

/// The current items that match: no addition is counted twice, and none is missed.
struct ItemResultsTests {
    private static let query = Query(.genericPassword, service: "dogs")

    @Test func `what was there, what comes beside the first look and what comes later is there once`() async throws {
        let test = try TestVault(groups: .standard, waits: true)
        let vaults = [test.vault, try test.reopened(groups: .standard)]
        try await vaults[0].add(Item.generic("dogs", "first"))
        let reader = Task {
            var last: [String] = []
            for try await dogs in vaults[0].results(matching: Self.query) {
                let names = dogs.compactMap(\.account)
                #expect(Set(names).count == names.count && names.count >= last.count)
                last = names
                if names.count == 201 { break }
            }
            return last.count
        }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for index in 0..<50 {
                        do { try await vaults[task % 2].add(Item.generic("dogs", "\(task) \(index)")) } catch {
                            Issue.record("\(error)")
                        }
                    }
                }
            }
        }
        #expect(try await reader.value == 201)
    }

    @Test func `an item that is changed or deleted is so in the next results, and others bring none`() async throws {
        let test = try TestVault()
        let vault = test.vault
        var results = vault.results(matching: Self.query).makeAsyncIterator()
        #expect(try await results.next()?.isEmpty == true)
        try await vault.add(Item.generic("cats", "a"))
        try await vault.add(Item.generic("dogs", "a"))
        #expect(try await results.next()?.map(\.account) == ["a"])
        try await vault.update(matching: Self.query, with: ItemChanges(attributes: [.label: "L"]))
        #expect(try await results.next()?.map(\.label) == ["L"])
        try await vault.add(Item.generic("dogs", "b"))
        try await vault.add(Item.generic("dogs", "c"))
        try await vault.delete(matching: Query(.genericPassword, service: "dogs", account: "a"))
        // A single read returns them all.
        #expect(try await results.next()?.map(\.account) == ["b", "c"])
        try await vault.delete(matching: Self.query)
        #expect(try await results.next()?.isEmpty == true)
    }

    @Test func `results end with what keeps the store from being looked at, and with the task`() async throws {
        let test = try TestVault()
        let vault = test.vault
        try await vault.add(Item.generic("dogs", "a"))
        var query = Self.query
        query.leavesOutLocked = true
        var (plain, lasting) = (
            vault.results(matching: Self.query).makeAsyncIterator(), vault.results(matching: query).makeAsyncIterator()
        )
        #expect(try await plain.next()?.count == 1)
        #expect(try await lasting.next()?.count == 1)
        try await vault.lock()
        #expect(try await lasting.next()?.isEmpty == true)
        await #expect(throws: VaultError.locked) { _ = try await plain.next() }
        try await vault.unlock(with: .passphrase(test.passphrase))
        #expect(try await lasting.next()?.count == 1)
        vault.close()
        await #expect(throws: VaultError.closed) { _ = try await lasting.next() }

        let memory = try Vault.inMemory()
        let began = Gate()
        let task = Task { [memory] in
            var looks = 0
            for try await _ in memory.results(matching: Self.query) {
                looks += 1
                began.open()
            }
            return looks
        }
        await began.wait()
        task.cancel()
        #expect(try await task.value == 1)
        var wrong = memory.results(matching: Query(.genericPassword, attributes: [.server: "x"])).makeAsyncIterator()
        await #expect(throws: VaultError.noSuchAttribute("srvr")) { _ = try await wrong.next() }
    }
}

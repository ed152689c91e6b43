// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing

@testable import Vault

/// The changes that readers receive: all of them, in order, in bounded memory.
struct ChangeBufferTests {
    private let ids = (0..<1000).map { _ in UUID() }

    private func change(_ kind: ItemChange.Kind, _ item: Int, _ sequence: UInt64) -> ItemChange {
        ItemChange(kind, itemClass: .genericPassword, id: ids[item], sequence: sequence)
    }

    private func taken(_ changes: [ItemChange]) -> [ItemChange]? {
        let buffer = ChangeBuffer()
        for change in changes { buffer.offer(change) }
        return buffer.take {}
    }

    @Test func `several changes of one item are one, at the place of the last`() {
        #expect(
            taken([change(.added, 0, 1), change(.added, 1, 2), change(.updated, 0, 3)]) == [
                change(.added, 1, 2), change(.added, 0, 3),
            ])
        #expect(taken([change(.updated, 0, 1), change(.deleted, 0, 2)]) == [change(.deleted, 0, 2)])
        #expect(taken([change(.added, 0, 1), change(.deleted, 0, 2)]) == [])
        #expect(
            taken([change(.deleted, 0, 1), change(.added, 0, 2), change(.updated, 0, 3)]) == [change(.updated, 0, 3)])
    }

    @Test func `too many become one, which stands for what comes until it is read`() {
        let many = (0..<1000).map { change(.added, $0, UInt64($0)) }
        #expect(taken(many) == [ItemChange(.many, sequence: 999)])
        let buffer = ChangeBuffer()
        for change in many { buffer.offer(change) }
        buffer.offer(ItemChange(.locked, sequence: 999))
        buffer.offer(change(.deleted, 3, 1000))
        #expect(buffer.take {} == [ItemChange(.locked, sequence: 999), ItemChange(.many, sequence: 1000)])
        buffer.offer(change(.deleted, 4, 1001))
        #expect(buffer.take {} == [change(.deleted, 4, 1001)])
    }

    @Test func `what is said of the vault itself is told beside too many changes, and many after what went wrong`() {
        let items = (0..<256).map { change(.added, $0, UInt64($0)) }
        let lock = ItemChange(.locked, sequence: 256)
        #expect(taken(items + [lock]) == [ItemChange(.many, sequence: 256), lock])
        let failed = ItemChange(.failed(.storage(.noVault)), sequence: 1)
        let many = ItemChange(.many, sequence: 2)
        #expect(taken([failed, many]) == [failed, many])
        #expect(taken([many, failed, ItemChange(.many, sequence: 3)])?.last == ItemChange(.many, sequence: 3))
    }

    @Test func `a vault that is locked and unlocked without end takes the room of a few, and the last is told`() {
        let buffer = ChangeBuffer()
        for sequence in 0..<10_000 {
            buffer.offer(ItemChange(sequence % 2 == 0 ? .unlocked : .locked, sequence: UInt64(sequence)))
        }
        let left = buffer.take {} ?? []
        #expect(left.count <= ChangeBuffer.most && left.last == ItemChange(.locked, sequence: 9_999))
        #expect(left.map(\.sequence) == left.map(\.sequence).sorted())
    }

    @Test func `one item that changes without end takes the room of one`() {
        let buffer = ChangeBuffer()
        for sequence in 0..<100_000 { buffer.offer(change(.updated, sequence % 3, UInt64(sequence))) }
        #expect(buffer.take {}?.map(\.sequence) == [99_997, 99_998, 99_999])
    }

    @Test func `after the end what is there can be read, and nothing is added`() {
        let buffer = ChangeBuffer()
        buffer.offer(change(.added, 0, 1))
        buffer.end()
        buffer.offer(change(.added, 1, 2))
        #expect(buffer.take {} == [change(.added, 0, 1)])
        #expect(buffer.take {} == nil)
    }
}

struct ChangeSequenceTests {
    private static let groups = AccessGroups(["A", "B"])

    /// Returns the changes as text, up to the change of the item `end`.
    private func read(_ changes: ChangeSequence, in vault: any ItemStore) async throws -> [String] {
        var names: [UUID: String] = [:]
        var heard: [String] = []
        var last: UInt64 = 0
        for await change in changes {
            #expect(change.sequence >= last)
            last = change.sequence
            if let query = change.query, let id = change.id, let item = try await vault.allMatching(query).first {
                names[id] = item.account
            }
            let name = change.id.map { names[$0] ?? "gone" }
            if name == "end" { break }
            heard.append(["\(change.kind)", name].compactMap { $0 }.joined(separator: " "))
        }
        return heard
    }

    @Test func `changes are told in order, those that match alone, and what was taken back never`() async throws {
        let test = try TestVault()
        let vault = test.vault
        try await vault.add(Item.generic("s", "before"))
        let changes = vault.changes(matching: Query(.genericPassword, service: "s"))
        try await vault.add(Item.generic("s", "a"))
        try await vault.add(Item.generic("other", "x"))
        try await vault.update(
            matching: Query(.genericPassword, account: "before"), with: ItemChanges(attributes: [.label: "L"]))
        try await vault.update(
            matching: Query(.genericPassword, account: "x"), with: ItemChanges(attributes: [.service: "s"]))
        await #expect(throws: VaultError.duplicateItem) { try await vault.add(Item.generic("s", "a")) }
        struct Abort: Error {}
        await #expect(throws: Abort.self) {
            try await vault.transaction { transaction in
                try transaction.add(Item.generic("s", "never"))
                throw Abort()
            }
        }
        try await vault.add(Item.generic("s", "end"))
        #expect(try await read(changes, in: vault) == ["added a", "updated before", "added x"])
    }

    @Test func `an item that ceases to match is deleted to the reader, and groups are kept apart`() async throws {
        let test = try TestVault(groups: ["A"])
        let vault = test.vault
        try await vault.add(Item.generic("s", "a"))
        try await vault.add(Item.generic("s", "b"))
        let changes = vault.changes(matching: Query(.genericPassword, service: "s"))
        let others = vault.withAccessGroups(["C"])
        try await others.add(Item.generic("s", "hidden"))
        try await vault.update(
            matching: Query(.genericPassword, account: "a"), with: ItemChanges(attributes: [.service: "t"]))
        try await vault.delete(matching: Query(.genericPassword, account: "b"))
        try await vault.add(Item.generic("s", "end"))
        #expect(try await read(changes, in: vault) == ["deleted a", "deleted gone"])
    }

    @Test func `nothing is lost between a look and the first element`() async throws {
        let test = try TestVault()
        let vault = test.vault
        try await vault.add(Item.generic("s", "a"))
        let sequence = try vault.sequence
        #expect(try await vault.copyMatching(Query(.genericPassword)).count == 1)
        try await vault.add(Item.generic("s", "b"))
        let changes = vault.changes(matching: Query(.genericPassword), from: sequence)
        try await vault.add(Item.generic("s", "c"))
        try await vault.add(Item.generic("s", "end"))
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next()?.kind == .many)
        let now = try vault.sequence
        let later = vault.changes(matching: nil, from: now)
        try await vault.add(Item.generic("s", "d"))
        try await vault.add(Item.generic("s", "end 2"))
        var next = later.makeAsyncIterator()
        #expect(await next.next()?.kind == .added)
    }

    @Test func `changes of another handle are told without a call of this one, rewrites too`() async throws {
        let test = try TestVault(waits: true)
        let other = try test.reopened()
        let changes = test.vault.changes(matching: Query(.genericPassword))
        try await other.add(Item.generic("s", "a"))
        var iterator = changes.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first?.kind == .added)
        try await other.update(matching: Query(.genericPassword), with: ItemChanges(secret: "new"))
        #expect(await iterator.next()?.kind == .updated)
        try await other.delete(matching: Query(.genericPassword))
        #expect(await iterator.next()?.kind == .deleted)
        try await other.add(Item.generic("s", "b"))
        #expect(await iterator.next()?.kind == .added)
        try await other.compact()
        try await other.add(Item.generic("s", "c"))
        // The file was rewritten: single changes may also be reported as many.
        let after = await iterator.next()
        #expect(after?.kind == .many || after?.kind == .added)
    }

    @Test func `of many writers beside a reader nothing is lost`() async throws {
        let test = try TestVault(groups: Self.groups, waits: true)
        let vaults = [test.vault, try test.reopened()]
        let changes = test.vault.changes(matching: Query(.genericPassword))
        async let seen: Set<UUID>? = {
            var seen: Set<UUID> = []
            for await change in changes {
                switch change.kind {
                case .added: if let id = change.id { seen.insert(id) }
                // The current items; later changes are reported.
                case .many:
                    seen = Set(try await vaults[0].allMatching(Query(.genericPassword)).compactMap { $0.record?.id })
                default: Issue.record("\(change)")
                }
                if seen.count == 400 { return seen }
            }
            return nil
        }()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for index in 0..<50 {
                        do { try await vaults[task % 2].add(Item.generic("\(task)", "\(index)")) } catch {
                            Issue.record("\(error)")
                        }
                    }
                }
            }
        }
        let all = Set(try await vaults[1].copyMatching(Query(.genericPassword)).compactMap { $0.record?.id })
        #expect(try await seen == all)
    }

    @Test func `a lock, a deleted file and an end are elements, and a file that is back is many`() async throws {
        let test = try TestVault()
        let vault = test.vault
        var iterator = vault.changes.makeAsyncIterator()
        try await vault.lock()
        #expect(await iterator.next()?.kind == .locked)
        try await vault.unlock(with: .passphrase(test.passphrase))
        #expect(await iterator.next()?.kind == .unlocked)
        let moved = test.directory.path.appending("moved.vault")
        let files = FileManager.default
        try files.moveItem(atPath: test.path.string, toPath: moved.string)
        #expect(await iterator.next()?.kind == .failed(.storage(.noVault)))
        try files.moveItem(atPath: moved.string, toPath: test.path.string)
        #expect(await iterator.next()?.kind == .many)
        vault.close()
        #expect(await iterator.next()?.kind == .failed(.closed))
        #expect(await iterator.next() == nil)
        var closed = vault.changes.makeAsyncIterator()
        #expect(await closed.next()?.kind == .failed(.closed))
        #expect(await closed.next() == nil)
    }

    @Test func `a query that is wrong is said by the first element`() async throws {
        let vault = try Vault.inMemory()
        var iterator = vault.changes(matching: Query(.genericPassword, attributes: [.server: "x"])).makeAsyncIterator()
        #expect(await iterator.next()?.kind == .failed(.noSuchAttribute("srvr")))
        #expect(await iterator.next() == nil)
    }

    @Test func `a reader that is cancelled ends, and leaves nothing behind`() async throws {
        let vault = try Vault.inMemory()
        let ready = Gate()
        let task = Task { [vault] in
            var count = 0
            let changes = vault.changes
            ready.open()
            for await _ in changes { count += 1 }
            return count
        }
        await ready.wait()
        task.cancel()
        #expect(await task.value == 0)
        // A thread of the vault releases the reader.
        Patience.look { !vault.core.hasReaders }
        #expect(!vault.core.hasReaders)
    }

    @Test func `a task is told of the vault in which it changes something itself`() async throws {
        let vault = try Vault.inMemory()
        var iterator = vault.changes.makeAsyncIterator()
        for number in 0..<50 {
            try await vault.set(number, for: "n")
            #expect(await iterator.next()?.kind == (number == 0 ? .added : .updated))
        }
    }
}

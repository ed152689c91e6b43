// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage
import VaultSystem

struct TransactionTests {
    @Test func `a transaction sees and reads what it did itself`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "old", "before"))
        try test.vault.transaction { (transaction: inout Transaction) throws(VaultError) in
            try transaction.add(Item(.genericPassword(service: "s", account: "a"), secret: "staged"))
            // Another protection class opens the value, which is not in the file yet, and seals it again.
            try transaction.update(
                matching: Query(.genericPassword, account: "a"), with: ItemChanges(attributes: [.accessible: "ck"]))
            var query = Query(.genericPassword, service: "s")
            query.returnsSecrets = true
            let found = try transaction.copyMatching(query)
            #expect(found.map { $0.secret?.exposed } == [Array("before".utf8), Array("staged".utf8)])
            #expect((try? found[1].text) == "staged")
        }
        #expect(try test.reopened().copyMatching(Query(.genericPassword, account: "a"))[0].text == "staged")
    }

    @Test func `an item that was found in a transaction is read after it too`() throws {
        let test = try TestVault()
        let item = try test.vault.transaction { (transaction: inout Transaction) throws(VaultError) in
            try transaction.add(Item(.genericPassword(service: "s", account: "a"), secret: "later"))
        }
        #expect(try item.text == "later")
    }

    @Test func `a verb that fails in a transaction leaves nothing of itself, and the rest goes on`() throws {
        let test = try TestVault()
        for name in ["a", "b", "c"] { try test.vault.add(Item.generic("s", name, name)) }
        try test.vault.transaction { (transaction: inout Transaction) throws(VaultError) in
            try transaction.add(Item(.genericPassword(service: "t", account: "first"), secret: "1"))
            do {
                try transaction.update(
                    matching: Query(.genericPassword, service: "s"),
                    with: ItemChanges(attributes: [.account: "same"], secret: "lost"))
                Issue.record("a collision went unnoticed")
            } catch { #expect(error as? VaultError == .duplicateItem) }
            try transaction.add(Item(.genericPassword(service: "t", account: "second"), secret: "2"))
        }
        for vault in [test.vault, try test.reopened()] {
            #expect(
                try vault.copyMatching(Query(.genericPassword, service: "s")).map { try $0.text } == ["a", "b", "c"])
            #expect(try vault.copyMatching(Query(.genericPassword, service: "t")).map { try $0.text } == ["1", "2"])
        }
        #expect(try test.vault.verify(deep: true).opened == 5)
    }

    @Test func `ten thousand items in one transaction come back in order`() throws {
        let test = try TestVault()
        try test.vault.store(
            (0..<10_000).map { Item(.genericPassword(service: "bulk", account: "\($0)"), secret: "x") },
            replacing: false)
        let accounts = try test.reopened().copyMatching(Query(.genericPassword, service: "bulk")).compactMap {
            $0[.account]?.text
        }
        #expect(accounts == (0..<10_000).map(String.init))
    }
}

struct HygieneTests {
    @Test func `nothing of an item can be read in the file`() throws {
        let test = try TestVault()
        let markers = [
            "marker-service", "marker-account", "marker-label", "marker-name", "marker-value", "marker-secret", "A",
        ]
        var item = try Item.generic(markers[0], markers[1], markers[5], [.label: .string(markers[2])])
        item.userAttributes = [markers[3]: markers[4]]
        try test.vault.add(item)
        try test.vault.update(
            matching: Query(.genericPassword), with: ItemChanges(attributes: [.comment: .string(markers[2])]))
        let bytes = try test.directory.read("test.vault")
        for marker in markers.dropLast() { #expect(!contains(bytes, Array(marker.utf8)), "\(marker)") }
        // A delete looks like an add: both append a frame of the same length.
        let before = try test.directory.read("test.vault").count
        try test.vault.add(Item.generic("s", "b", "short"))
        let added = try test.directory.read("test.vault").count - before
        try test.vault.delete(matching: Query(.genericPassword, account: "b"))
        #expect(try test.directory.read("test.vault").count - before - added == added)
    }

    private func contains(_ bytes: [UInt8], _ marker: [UInt8]) -> Bool {
        bytes.indices.dropLast(marker.count - 1).contains {
            bytes[$0] == marker[0] && Array(bytes[$0..<$0 + marker.count]) == marker
        }
    }

    @Test func `no error says what is in an item`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("marker-service", "marker-account", "marker-secret"))
        do {
            try test.vault.add(Item.generic("marker-service", "marker-account", "marker-secret"))
            Issue.record("a duplicate was added")
        } catch { #expect(!"\(error)".contains("marker")) }
    }
}

struct ForkTests {
    @Test func `a forked child is told that the vault is its parent's`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let test = try TestVault()
            try test.vault.add(Item.generic("s", "a"))
            // Swift marks fork as unavailable; a program can still call it.
            typealias Fork = @convention(c) () -> Int32
            let fork = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
            let child = fork()
            if child == 0 {
                do { _ = try test.vault.copyMatching(Query(.genericPassword)) } catch {
                    _exit(error as? VaultError == .storage(.forked) ? 7 : 1)
                }
                _exit(2)
            }
            var status: Int32 = 0
            waitpid(child, &status, 0)
            exit(status >> 8)
        }
    }
}

/// Regression tests for failures of earlier versions.
struct RegressionTests {
    @Test func `a creation date of minus zero keeps the vault readable`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a"))
        let zero = AttributeValue.date(Date(timeIntervalSinceReferenceDate: -0.0))
        try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(attributes: [.creationDate: zero]))
        #expect(
            try test.reopened().copyMatching(Query(.genericPassword))[0].record?.created
                == Date(timeIntervalSinceReferenceDate: 0))
    }

    @Test func `a rollback is reported every time and never written upon`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a"))
        let old = try test.directory.read("test.vault")
        try test.vault.add(Item.generic("s", "b"))
        try test.directory.write(old, to: "test.vault")
        try LinuxFileSystem.restrict(test.path)
        for _ in 0..<3 {
            #expect(throws: VaultError.storage(.rolledBack)) { try test.vault.copyMatching(Query(.genericPassword)) }
            #expect(throws: VaultError.storage(.rolledBack)) { try test.vault.add(Item.generic("s", "c")) }
        }
        #expect(try test.directory.read("test.vault") == old)
    }

    @Test func `a file that lost its marks is damaged at every look`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a"))
        var bytes = try test.directory.read("test.vault")
        bytes.replaceSubrange(4096..<12288, with: [UInt8](repeating: 0, count: 8192))
        try test.directory.write(bytes, to: "test.vault")
        try LinuxFileSystem.restrict(test.path)
        for _ in 0..<3 {
            #expect(throws: VaultError.storage(.damaged(.marks))) {
                try test.vault.copyMatching(Query(.genericPassword))
            }
        }
    }

    @Test func `a compaction removes its own leftovers and no other vault`() throws {
        let test = try TestVault()
        try test.directory.write([1], to: ".test.vault.tmp-0123456789abcdef")
        try test.directory.write([2], to: ".test.vault.tmp-backup")
        try test.directory.write([3], to: ".test.vault.tmp-0123456789ABCDEF")
        try test.vault.compact()
        let names = try LinuxFileSystem().openDirectory(test.directory.path).names().filter { $0.contains("tmp-") }
        #expect(Set(names) == [".test.vault.tmp-backup", ".test.vault.tmp-0123456789ABCDEF"])
    }

    @Test func `an item of this device is not replaced because the device cannot be told`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "bound", [.accessible: "aku"]))
        var environment = TestVault.environment(test.directory, test.clock)
        environment.stateDirectory = nil
        let homeless = try Vault.open(
            at: test.path, unlockingWith: test.passphrase, environment: environment, accessGroups: AccessGroups(["A"]))
        #expect(throws: VaultError.storage(.noStateDirectory)) { try homeless.set(Item.generic("s", "a", "lost")) }
        #expect(try test.vault.copyMatching(Query(.genericPassword))[0].text == "bound")
    }

    @Test func `a damaged secret of this device is an error and stays where it is`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "bound", [.accessible: "aku"]))
        let state = try LinuxFileSystem().openDirectory(test.directory.path.appending("state"))
        let name = try #require(try state.names().first { $0.hasSuffix(".device") })
        try state.open(name, writable: true).truncate(to: 5)
        let vault = try test.reopened()
        #expect(throws: VaultError.storage(.refused(.deviceSecret))) {
            try vault.add(Item.generic("t", "a", "x", [.accessible: "aku"]))
        }
        #expect(try #require(try state.status(of: name)).size == 5)
    }

    @Test func `what an item lacks by default can be asked for as its default`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a"))
        #expect(test.vault.count(Query(.genericPassword, attributes: [.tombstone: 0])) == 1)
        #expect(
            test.vault.count(
                Query(.genericPassword, attributes: [.syncViewHint: "", .tokenID: "", .multiUser: .data([])])) == 1)
        #expect(throws: VaultError.duplicateItem) {
            try test.vault.add(Item.generic("s", "a", "x", [.syncViewHint: ""]))
        }
        try test.vault.add(Item.generic("s", "a", "x", [.syncViewHint: "view"]))
        #expect(test.vault.count(Query(.genericPassword, attributes: [.syncViewHint: ""])) == 1)
    }

    @Test func `groups that only look alike are different groups`() throws {
        let test = try TestVault(groups: AccessGroups(["\u{e9}"]))
        try test.vault.add(Item.generic("s", "a"))
        #expect(test.vault.withAccessGroups(AccessGroups(["e\u{301}"])).count(Query(.genericPassword)) == 0)
    }

    @Test func `a rewritten file has room for deletes on a disk that is full since`() throws {
        let test = try TestVault()
        for index in 0..<20 { try test.vault.add(Item.generic("s", "\(index)")) }
        try test.vault.compact()
        // Blocks of 512 bytes: the file has allocated more of the disk than its size.
        let blocks = try #require(FileManager.default.attributesOfItem(atPath: test.path.string)[.size] as? Int)
        #expect(blocks > 0)
        #expect(try allocated(test.path) >= blocks + 60_000)
    }

    private func allocated(_ path: FilePath) throws -> Int {
        var status = stat()
        guard lstat(path.string, &status) == 0 else { throw Errno(rawValue: errno) }
        return Int(status.st_blocks) * 512
    }

    @Test func `match keys are for finding and not for changing`() throws {
        let test = try TestVault()
        try test.vault.add(Item(.internetPassword(server: "example.com")))
        var host = Query(.internetPassword)
        host.hostOrSubdomain = "example.com"
        var text = Query(.internetPassword)
        text.text = "example"
        for query in [host, text] {
            #expect(throws: VaultError.parameter(.matchKey)) { try test.vault.delete(matching: query) }
            #expect(throws: VaultError.parameter(.matchKey)) {
                try test.vault.update(matching: query, with: ItemChanges())
            }
        }
    }
}

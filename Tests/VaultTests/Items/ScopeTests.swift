// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultStorage

@testable import Vault

/// The scope and lifetime of a transaction, a handle and a default vault.
struct ScopeTests {
    private let vault: Vault
    private let query = Query(.genericPassword)

    init() throws { vault = try Vault.inMemory() }

    private func item(_ service: String) -> Item { Item(.genericPassword(service: service), secret: "s") }

    private func count() throws -> Int {
        do throws(VaultError) { return try vault.copyMatching(query).count } catch {
            guard error == .itemNotFound else { throw error }
            return 0
        }
    }

    @Test func `whichever call opens a vault, a program is in its own group, and in others by name`() async throws {
        let directory = try TemporaryDirectory()
        let environment = TestVault.environment(directory, SystemClock())
        let (path, passphrase) = (directory.path.appending("v"), try Passphrase.of("pass"))
        let made = try await Vault.create(
            at: path, passphrase: passphrase, cost: .weakest, environment: environment)
        let added = try await made.add(Item.generic("s", "mine"))
        #expect(added[.accessGroup]?.text == Vault.processGroup)
        try await made.withAccessGroups(.standard).add(Item.generic("s", "of the command"))
        made.close()
        let opened = [
            try await Vault.open(at: path, unlockingWith: passphrase, environment: environment),
            try await LockedVault(at: path, environment: environment).unlock(with: .passphrase(passphrase)),
        ]
        for vault in opened {
            #expect(try await vault.copyMatching(Query(.genericPassword)).map(\.account) == ["mine"])
            let named = vault.withAccessGroups([Vault.processGroup, "default"])
            #expect(try await named.copyMatching(Query(.genericPassword)).count == 2)
        }
        let standard = try await Vault.open(
            at: path, unlockingWith: passphrase, environment: environment, accessGroups: .standard)
        #expect(try await standard.copyMatching(Query(.genericPassword)).map(\.account) == ["of the command"])
        let memory = try await Vault.inMemory().add(Item.generic("s", "a"))
        #expect(memory[.accessGroup]?.text == Vault.processGroup)
    }

    @Test func `a secret is read inside a transaction, of items from before and of its own`() throws {
        let before = try vault.add(item("a"))
        try vault.transaction { transaction in
            let own = try transaction.add(item("b"))
            for found in [before, own] + (try transaction.copyMatching(query)) { #expect(try found.text == "s") }
        }
        #expect(try vault.copyMatching(query).count == 2)
    }

    @Test func `two transactions cannot be exchanged`() async {
        await #expect(processExitsWith: .failure) {
            let (one, other) = (try Vault.inMemory(), try Vault.inMemory())
            try one.transaction { (first: inout Transaction) in
                try other.transaction { (second: inout Transaction) in swap(&first, &second) }
            }
        }
    }

    @Test func `the vault's own verbs inside a transaction of it are an error, and wait for nobody`() throws {
        try vault.add(item("a"))
        let vault = vault
        let (inner, query) = (item("b"), query)
        let calls: [@Sendable () throws -> Void] = [
            { try vault.add(inner) }, { try vault.set(inner) }, { _ = try vault.copyMatching(query) },
            { try vault.delete(matching: query) },
            { try vault.compact() }, { try vault.transaction { _ in } }, { _ = try vault.verify(deep: false) },
        ]
        try vault.transaction { transaction in
            for call in calls { #expect(throws: VaultError.insideTransaction) { try call() } }
            try transaction.add(item("c"))
        }
        #expect(try count() == 2)
    }

    @Test func `an error of one's own ends a transaction, and nothing of it stays`() throws {
        struct Changed: Error {}
        #expect(throws: Changed.self) {
            try vault.transaction { transaction in
                try transaction.add(item("a"))
                throw Changed()
            }
        }
        #expect(try count() == 0)
        try vault.transaction { try $0.add(item("a")) }
        #expect(try count() == 1)
    }

    @Test func `a vault that is closed says so`() throws {
        try vault.add(item("a"))
        vault.close()
        #expect(throws: VaultError.closed) { try vault.add(item("b")) }
        #expect(throws: VaultError.closed) { try vault.copyMatching(query) }
        #expect(throws: VaultError.closed) { try vault.transaction { _ in } }
    }

    @Test func `errors and items say what they are, and no secret`() throws {
        #expect(VaultError.itemNotFound.localizedDescription == "No such item.")
        let item = Item(.genericPassword(service: "mail", account: "ada"), secret: "s3cret")
        #expect("\(item)".contains("mail") && !"\(item)".contains("s3cret"))
        var dumped = ""
        dump(item, to: &dumped)
        #expect(!dumped.contains("s3cret"))
    }

    @Test(arguments: [
        ("/usr/bin/tool", "tool"), ("/usr/bin/tool (deleted)", "tool"), ("/opt/*", "program.*"),
        ("/opt/default", "program.default"),
        ("/opt/device-identifiers", "program.device-identifiers"), ("/opt/a,b", "program.a_b"), ("", "program."),
        ("/opt/systemd", "program.systemd"),
    ]) func `a program's own group is called as it is, unless that means something else`(
        executable: String, group: String
    ) {
        #expect(ProcessGroup.name(ofExecutable: executable) == group)
    }

    @Test(arguments: ["tool.resources/Info.plist", "Info.plist"])
    func `a program with a bundle identifier is called that`(place: String)
        throws
    {
        let directory = try TemporaryDirectory()
        let property = "<key>CFBundleIdentifier</key><string>com.example.Tool</string>"
        let list = "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict>\(property)</dict></plist>"
        try LinuxFileSystem().createDirectories(directory.path.appending("tool.resources"))
        try list.write(toFile: directory.path.appending(place).string, atomically: false, encoding: .utf8)
        #expect(ProcessGroup.name(ofExecutable: directory.path.appending("tool").string) == "com.example.Tool")
    }
}

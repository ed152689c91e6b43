// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage

/// The survival of items through events: a test for each row of the table in `WhatSurvives.md`.
struct SurvivalTests {
    private let machine: Machine

    init() throws { machine = try Machine() }

    /// A home directory with a vault, and a state directory beside it.
    private final class Machine {
        let directory: TemporaryDirectory
        let path: FilePath
        let state: FilePath

        init() throws {
            directory = try TemporaryDirectory()
            path = directory.path.appending("data").appending("v.vault")
            state = directory.path.appending("state")
        }

        var environment: VaultEnvironment {
            VaultEnvironment(
                fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SystemRandom(), stateDirectory: state)
        }

        static func passphrase() throws -> Passphrase { try .of("pass") }

        func create() throws -> Vault {
            try Vault.create(at: path, passphrase: Self.passphrase(), cost: .weakest, environment: environment)
        }

        func open() throws -> Vault {
            let vault = try Vault.open(at: path, unlockingWith: Self.passphrase(), environment: environment)
            return vault
        }

        func wipe(_ path: FilePath) throws { try FileManager.default.removeItem(atPath: path.string) }
    }

    /// Returns both identifiers that an application asks for.
    private func identifiers(_ vault: Vault, _ name: String = "com.example.player") throws -> (kept: UUID, bound: UUID)
    {
        (try vault.deviceIdentifier(for: name), try vault.deviceIdentifier(for: name, thisDeviceOnly: true))
    }

    @Test func `the application is upgraded, or uninstalled and installed again`() throws {
        let before = try identifiers(machine.create())
        // The application has no files of its own in the vault's directory, and none that the vault needs.
        let after = try identifiers(machine.open())
        #expect(before == after && before.kept != before.bound)
    }

    @Test func `the system is installed anew, and the home directory kept`() throws {
        let before = try identifiers(machine.create())
        let other = try Machine()
        for name in ["data", "state"] {
            try FileManager.default.copyItem(
                atPath: machine.directory.path.appending(name).string,
                toPath: other.directory.path.appending(name).string)
        }
        // The vault's identifier locates the device secret; the anchor is located by the path, which differs here.
        #expect(try identifiers(other.open()) == before)
    }

    @Test func `the system is installed anew, and only the vault file kept`() throws {
        let before = try identifiers(machine.create())
        try machine.wipe(machine.state)
        let after = try identifiers(machine.open())
        #expect(after.kept == before.kept && after.bound != before.bound)
        #expect(try identifiers(machine.open()) == after)
    }

    @Test func `the vault is backed up, the disk wiped, and the backup restored`() throws {
        let vault = try machine.create()
        let before = try identifiers(vault)
        let backup = machine.directory.path.appending("backup")
        try machine.open().backUp(to: backup)
        try machine.wipe(machine.path.removingLastComponent())
        try machine.wipe(machine.state)
        try LockedVault(at: backup, environment: machine.environment).restore(
            with: .passphrase(Machine.passphrase()), to: machine.path)
        let after = try identifiers(machine.open())
        #expect(after.kept == before.kept && after.bound != before.bound)
    }

    @Test func `the vault is lost, and the backup restored on the same system`() throws {
        let before = try identifiers(machine.create())
        let backup = machine.directory.path.appending("backup")
        try machine.open().backUp(to: backup)
        try machine.wipe(machine.path)
        try LockedVault(at: backup, environment: machine.environment).restore(
            with: .passphrase(Machine.passphrase()), to: machine.path)
        #expect(try identifiers(machine.open()) == before)
    }

    @Test func `a copy of the vault goes to another machine`() throws {
        let before = try identifiers(machine.create())
        let other = try Machine()
        let backup = machine.directory.path.appending("backup")
        try machine.open().backUp(to: backup)
        try LockedVault(at: backup, environment: other.environment).restore(
            with: .passphrase(Machine.passphrase()), to: other.path)
        let there = try identifiers(other.open())
        #expect(there.kept == before.kept && there.bound != before.bound)
        // The item made on the other machine is absent here, and did not change this machine's.
        #expect(try identifiers(machine.open()) == before)
    }

    @Test func `the passphrase is changed, or the vault rekeyed`() throws {
        let vault = try machine.create()
        let before = try identifiers(vault)
        let opened = try machine.open()
        try opened.changePassphrase(from: Machine.passphrase(), to: .of("new"))
        try opened.rekey([SlotEntry(.passphrase(Machine.passphrase()), name: "passphrase")])
        opened.close()
        #expect(try identifiers(machine.open()) == before)
    }

    @Test func `a damaged vault is salvaged`() throws {
        let before = try identifiers(machine.create())
        let file = try FileHandle(forUpdating: URL(filePath: machine.path.string))
        // Erases the marks.
        try file.seek(toOffset: 4096)
        try file.write(contentsOf: Data(count: 8192))
        try file.close()
        #expect(throws: VaultError.storage(.damaged(.marks))) { try machine.open() }
        let salvaged = machine.directory.path.appending("salvaged")
        _ = try DamagedVault(at: machine.path, environment: machine.environment)
            .salvage(with: .passphrase(Machine.passphrase()), to: salvaged)
        try LockedVault(at: salvaged, environment: machine.environment)
            .restore(with: .passphrase(Machine.passphrase()), to: machine.path, replacing: true)
        #expect(try identifiers(machine.open()) == before)
    }

    @Test func `it is forgotten with its program, or reset`() throws {
        let opened = try machine.create()
        let before = try identifiers(opened)
        let kept = try opened.resetDeviceIdentifier(for: "com.example.player")
        #expect(kept != before.kept)
        #expect(try opened.deviceIdentifier(for: "com.example.player") == kept)
        #expect(try opened.deviceIdentifier(for: "com.example.player", thisDeviceOnly: true) == before.bound)
        _ = try opened.deviceIdentifier(for: "com.example.other")
        #expect(try opened.withAccessGroups(["com.example.player"]).forget(accessGroup: "com.example.player") == 2)
        let after = try identifiers(opened)
        #expect(after.kept != kept && after.bound != before.bound)
    }

    @Test func `the vault is locked`() throws {
        let vault = try machine.create()
        let before = try identifiers(vault)
        try vault.lock()
        #expect(try identifiers(vault) == before)
    }

    @Test func `there is one identifier for each name, whichever groups ask, and a program's wipe leaves it`() throws {
        let vault = try machine.create()
        let names = ["", "com.example.player", "com.example.other", "ü"]
        let views = [
            vault, vault.withAccessGroups(["other"]), vault.withAccessGroups(["third", "default"]),
            vault.withAccessGroups(["*"]),
        ]
        var seen: Swift.Set<UUID> = []
        for view in views { for name in names { seen.insert(try view.deviceIdentifier(for: name)) } }
        #expect(seen.count == names.count)
        #expect(throws: VaultError.itemNotFound) { try vault.delete(matching: Query(.genericPassword)) }
        let named = Query(.genericPassword, attributes: [.accessGroup: "device-identifiers"])
        #expect(throws: VaultError.accessGroupDenied) { try vault.delete(matching: named) }
        // A caller that names the group may read its items.
        #expect(try vault.copyMatching(named).count == names.count)
    }

    @Test func `one that version 0.1 kept in a program's group, or in the standard one, goes on`() throws {
        let vault = try machine.create()
        func keep(_ name: String, in group: String) throws -> UUID {
            let made = UUID()
            let old = vault.withAccessGroups([group])
            try old.add(
                Item(
                    .genericPassword(service: "device-identifier", account: name), accessible: .afterFirstUnlock,
                    secret: Secret(text: made.uuidString.lowercased())))
            return made
        }
        let (standard, own) = (try keep("a", in: "default"), try keep("b", in: "program"))
        #expect(try vault.withAccessGroups(["program"]).deviceIdentifier(for: "a") == standard)
        #expect(try vault.withAccessGroups(["program"]).deviceIdentifier(for: "b") == own)
        #expect(try vault.deviceIdentifier(for: "b") != own)
    }

    @Test func `threads that ask at the same time for the first time get one answer`() throws {
        let vault = try machine.create()
        for bound in [false, true] {
            let threads = (0..<16).map { _ in
                Worker { try vault.deviceIdentifier(for: "race", thisDeviceOnly: bound) }
            }
            #expect(try Swift.Set(threads.map { try $0.value() }).count == 1)
        }
    }

    @Test func `an identifier is a random UUID in a generic password that is readable after the first unlock`() throws {
        let vault = try machine.create()
        let id = try vault.deviceIdentifier(for: "n")
        let text = id.uuidString.lowercased()
        #expect(text.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        let item = try #require(
            try vault.copyMatching(
                Query(
                    .genericPassword, service: "device-identifier", account: "n",
                    attributes: [.accessGroup: "device-identifiers"])
            ).first)
        #expect(try item.text == text && item[.accessible] == "ck")
    }

    @Test(arguments: ["", "no identifier", "12345678-1234-4234-8234-1234567890123"])
    func `what is stored in its place and is none is an error, and is not replaced`(text: String) throws {
        let vault = try machine.create()
        try vault.add(.generic("device-identifier", "n", text))
        #expect(throws: VaultError.notADeviceIdentifier) { try vault.deviceIdentifier(for: "n") }
        #expect(try vault.copyMatching(Query(.genericPassword, service: "device-identifier")).first?.text == text)
        try vault.resetDeviceIdentifier(for: "n")
        _ = try vault.deviceIdentifier(for: "n")
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage
@testable import VaultSync
import VaultSystem

/// The information that a fleet's folder gives its operator: sizes, counts, times, epochs, and in its paths the random
/// names of realm and logs. Nothing else.
struct FolderSecrecyTests {
    private struct Found {
        var paths: [String] = []
        var contents: [[UInt8]] = []
    }

    private static func look(
        _ folder: any VaultDirectory, _ path: String, into found: inout Found
    ) throws {
        var names: [String] = []
        try folder.forEachName { names.append($0) }
        for name in names {
            found.paths.append(path + "/" + name)
            if try folder.status(of: name)?.kind == .directory {
                try look(folder.directory(name), path + "/" + name, into: &found)
            } else {
                let file = try folder.open(name, writable: false)
                found.contents.append(try file.read(file.status().size, at: 0))
            }
        }
    }

    @Test func `a folder names no item, no secret, no device and no key`() throws {
        let names = ["laptop of Ada", "phone of Bob", "server in the cellar"]
        let homes = try Home.fleet(names)
        var texts = names + ["a service of many", "label of labels", "a comment there", "team-attribute"]
        for (number, home) in homes.enumerated() {
            let (account, secret) = ("account number \(number)", "secret number \(number), and long")
            var item = Item(
                .genericPassword(service: "a service of many", account: account),
                attributes: [.label: .string("label of labels"), .comment: .string("a comment there")],
                secret: try Secret(text: secret))
            item.userAttributes = ["team-attribute": "blue-and-green"]
            item.fields = ["pin-of-item": try Secret(text: "9876543210")]
            try home.vault.add(item)
            try home.add("temporary \(number)", "deleted secret \(number)")
            texts += [account, secret, "temporary \(number)", "deleted secret \(number)"]
        }
        let large = String(repeating: "very large ", count: 9000)
        try homes[0].add("large account", large)
        texts += ["blue-and-green", "pin-of-item", "9876543210", "large account", "very large very large"]
        for home in homes + homes { try home.sync() }
        try homes[1].vault.update(
            matching: Query(.genericPassword, service: "a service of many", account: "account number 0"),
            with: ItemChanges(secret: Secret(text: "changed secret")))
        try homes[2].delete("temporary 0")
        texts.append("changed secret")
        for home in homes + homes { try home.sync() }
        _ = try homes[0].fleet.remove(deviceNamed: names[2])
        try homes[1].sync()

        let memberships = try homes.prefix(2).map { try $0.fleet.membership() }
        let (realm, logs) = (memberships[0].identity.realmID, memberships[0].state.logs.keys.sorted())
        var found = Found()
        let folder = try homes[0].environment.fileSystem.openDirectory(Home.remote)
        try Self.look(folder, "", into: &found)
        #expect(found.contents.count > 10 && logs.count == 3)
        let paths = found.paths.map { Array($0.utf8) }
        for text in texts { Traces.expectAbsent(Array(text.utf8), text, in: found.contents + paths) }
        let devices = try homes[1].fleet.deviceNames().keys.compactMap { memberships[0].state.logs[$0]?.device }
        #expect(devices.count == 3)
        for device in devices {
            Traces.expectAbsent(bytes(device), "a device's name", in: found.contents + paths)
        }
        // Paths name the logs and the realm; no record contains the names.
        for log in logs {
            Traces.expectAbsent(bytes(log), "a log's name", in: found.contents)
            #expect(found.paths.contains("/vlt1/\(realm.text)/1/\(log.text)"))
        }
        Traces.expectAbsent(bytes(realm), "the realm's name", in: found.contents)
        for membership in memberships {
            let (signing, box) = membership.identity.device
            for key in [signing, box] {
                Traces.expectAbsent((0..<32).map { key.bytes[$0] }, "a public key", in: found.contents + paths)
            }
            for key in membership.identity.epochKeys.values {
                Traces.expectAbsent(key.exposed, "an epoch's key", in: found.contents + paths)
            }
        }
        // Every path consists of the numbers of the four kinds, random names and sequence numbers.
        let zeros = Bytes16.zero.text
        for path in found.paths {
            let parts = path.split(separator: "/").map(String.init)
            #expect(parts[0] == "vlt1")
            if parts.count > 1 { #expect([realm.text, zeros].contains(parts[1])) }
            if parts.count > 2 { #expect(["0", "1", "2", "3"].contains(parts[2])) }
            if parts.count > 3 { #expect(Bytes16(text: parts[3]) != nil) }
            if parts.count > 4 { #expect(RecordName(parts[4]) != nil) }
            #expect(parts.count <= 5)
        }
        for item in try homes[0].vault.copyMatching(Query(.genericPassword)) {
            let id = try #require(item.record?.id)
            Traces.expectAbsent(
                withUnsafeBytes(of: id.uuid) { Array($0) }, "an item's name", in: found.contents + paths)
        }
    }

    private func bytes(_ name: Bytes16) -> [UInt8] { (0..<16).map { name.bytes[$0] } }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import VaultSSHAgent

/// The keys that a host is offered, and in which order.
struct SSHOrderTests {
    private static let names = SSHSamples.keys + ["authority", "host2"]
    private static let last = "host2"

    /// An agent with eight keys, whose comments are their names.
    private func made(_ file: FilePath? = nil, _ names: [String] = names) throws -> SSHWorld {
        let world = SSHWorld(order: SSHOrder(file))
        for name in names {
            #expect(world.connect().ask(try SSHSamples.adding(name, comment: name)) == SSHSamples.success)
        }
        return world
    }

    /// Logs in at a host as ssh(1) does.
    ///
    /// - Parameters:
    ///   - keys: The keys that sign.
    ///   - session: The identifier of the login.
    /// - Returns: The comments of the keys that were listed.
    @discardableResult
    private func logIn(
        _ world: SSHWorld, host: String = "host.pub", with keys: [String] = [], session: [UInt8] = [1, 2, 3]
    ) throws -> [String] {
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding(host, session: session)) == SSHSamples.success)
        let listed = try line.comments()
        for key in keys {
            let message = try SSHSamples.authentication(
                key + ".pub", session: session, host: host,
                algorithm: key.hasPrefix("rsa") ? "rsa-sha2-256" : nil)
            let answer = line.ask(try SSHSamples.signing(key + ".pub", message, flags: 2))
            #expect(try SSHWorld.isSignature(answer, by: key + ".pub", of: message))
        }
        line.end()
        return listed
    }

    // MARK: Certificates

    @Test(arguments: [false, true])
    func `a certificate that has expired, or is not valid yet, is not offered, and its key is`(isStored: Bool) throws {
        let now: UInt64 = 1_800_000_000
        for (valid, isOffered) in [
            (now - 60..<now, false), (now + 1..<now + 60, false), (0..<now + 1, true), (now..<now + 60, true),
        ] {
            let world = SSHWorld(keepsKeys: isStored)
            let line = world.connect()
            let certificate = try SSHSamples.certificate(valid: valid)
            #expect(line.ask(try SSHSamples.adding("ed25519", comment: "key")) == SSHSamples.success)
            #expect(
                line.ask(try SSHSamples.adding("ed25519", certified: certificate, comment: "key"))
                    == SSHSamples.success)
            let listed = try SSHWorld.identities(line.ask([11])).map(\.blob)
            #expect(listed.contains(try SSHSamples.blob("ed25519.pub")))
            #expect(listed.contains(certificate) == isOffered)
            #expect(listed.count == (isOffered ? 2 : 1))
            var removal: [UInt8] = [18]
            removal.put(bytes: certificate)
            #expect(line.ask(removal) == SSHSamples.success)
        }
    }

    // MARK: Hosts

    @Test
    func `a host is offered the key first that it has accepted, also after a restart, and no other host is`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path.appending("order")
        let first = try made(file)
        #expect(try logIn(first, with: [Self.last]) == Self.names)
        for world in [first, try made(file)] {
            #expect(try logIn(world) == [Self.last] + Self.names.dropLast())
            #expect(try logIn(world, host: "authority.pub") == Self.names)
            #expect(try world.connect().comments() == Self.names)
        }
        // Without a file it is remembered as long as the agent runs.
        let other = try made()
        try logIn(other, with: [Self.last])
        #expect(try logIn(other).first == Self.last)
    }

    @Test func `of the keys that have signed for one login the last is the one that worked`() throws {
        let world = try made()
        try logIn(world, with: ["rsa3072", "authority"])
        #expect(try logIn(world).prefix(2) == ["authority", "ed25519"])
    }

    @Test func `several keys that a host has accepted stay in their order`() throws {
        let world = try made()
        for key in [Self.last, "authority", "ecdsa521"] { try logIn(world, with: [key]) }
        #expect(try logIn(world).prefix(4) == ["ecdsa521", "authority", Self.last, "ed25519"])
        // Only the last four count.
        for key in ["rsa2048", "ed25519"] { try logIn(world, with: [key]) }
        #expect(try logIn(world).prefix(5) == ["ed25519", "ecdsa521", "rsa2048", "authority", "ecdsa256"])
    }

    @Test func `a list that every server tries to its end stays as it is`() throws {
        let names = Array(Self.names.prefix(SSHOrder.untouched))
        let world = try made(nil, names)
        try logIn(world, with: [names[2]])
        try logIn(world)
        #expect(try logIn(world) == names)
    }

    @Test func `after a login without success other keys have their turn, each within the first three once`() throws {
        let world = try made()
        var tried: Set<String> = []
        for _ in 0..<3 { tried.formUnion(try logIn(world).prefix(3)) }
        #expect(tried == Set(Self.names))
        // Another host, and lists without a login, are as before.
        #expect(try logIn(world, host: "authority.pub") == Self.names)
        #expect(try world.connect().comments() == Self.names)
        try logIn(world, with: ["rsa3072"])
        #expect(try logIn(world) == ["rsa3072"] + Self.names.filter { $0 != "rsa3072" })
    }

    @Test func `what signs for nothing, or for another login, is not remembered`() throws {
        let world = try made()
        for message in [
            SSHSamples.message, try SSHSamples.authentication(Self.last + ".pub", session: [9]),
            try SSHSamples.authentication("ed25519.pub"),
        ] {
            let line = world.connect()
            #expect(line.ask(try SSHSamples.binding("host.pub")) == SSHSamples.success)
            #expect(line.ask(try SSHSamples.signing(Self.last + ".pub", message)) != SSHSamples.failure)
            line.end()
        }
        let unbound = world.connect()
        let message = try SSHSamples.authentication(Self.last + ".pub")
        #expect(unbound.ask(try SSHSamples.signing(Self.last + ".pub", message)) != SSHSamples.failure)
        unbound.end()
        #expect(try logIn(world) == Self.names)
    }

    @Test func `behind a forwarded agent the last host counts, and a host that only forwards does not`() throws {
        let world = try made()
        for isSecond in [false, true] {
            let line = world.connect()
            #expect(line.ask(try SSHSamples.binding("host.pub", isForwarding: true)) == SSHSamples.success)
            #expect(try line.comments() == Self.names)
            #expect(line.ask(try SSHSamples.binding("authority.pub", session: [4])) == SSHSamples.success)
            #expect(try line.comments() == (isSecond ? [Self.last] + Self.names.dropLast() : Self.names))
            let message = try SSHSamples.authentication(Self.last + ".pub", session: [4], host: "authority.pub")
            #expect(line.ask(try SSHSamples.signing(Self.last + ".pub", message)) != SSHSamples.failure)
            line.end()
        }
        #expect(try logIn(world) == Self.names)
        #expect(try logIn(world, host: "authority.pub").first == Self.last)
    }

    @Test func `a renewed certificate is the key that the host has accepted`() throws {
        let order = SSHOrder()
        let host = try SSHSamples.name("host.pub").key
        let old = try SSHKeyName(bytes: SSHSamples.certificate(valid: 0..<1))
        let renewed = try SSHKeyName(bytes: SSHSamples.certificate(valid: 1..<2))
        let plain = try Self.names.map { try SSHSamples.name($0 + ".pub") }
        order.note(old, at: host)
        #expect(order.sorted(plain + [renewed], for: host) { $0 } == [renewed] + plain)
    }

    // MARK: The file

    @Test func `the file is the user's own, has a bound, and names neither host nor key`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path.appending("order")
        let order = SSHOrder(file)
        let key = try SSHSamples.name("ed25519.pub")
        for number in 0..<SSHOrder.mostEntries + 40 {
            order.note(key, at: .ed25519((0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 2 * 8)) }))
        }
        let bytes = try directory.read("order")
        #expect(bytes.count < 40_000)
        let mode = try FileManager.default.attributesOfItem(atPath: file.string)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == SSHOrder.mostEntries + 2)
        #expect(lines.dropFirst().allSatisfy { $0.allSatisfy { $0.isHexDigit || $0 == " " } })
        // With another salt the same host and key have other hashes.
        let other = directory.path.appending("other")
        let host = SSHPublicKey.ed25519([UInt8](repeating: 7, count: 32))
        SSHOrder(file).note(key, at: host)
        SSHOrder(other).note(key, at: host)
        let last = try [file, other].map { path in
            try String(contentsOfFile: path.string, encoding: .utf8).split(separator: "\n").last
        }
        #expect(last[0] != last[1])
    }

    @Test(arguments: ["", "x", "vault ssh order 1\n", "vault ssh order 1\n00\n", "vault ssh order 2\n"])
    func `a file that is damaged is begun anew`(start: String) throws {
        let directory = try TemporaryDirectory()
        let file = directory.path.appending("order")
        try directory.write(Array(start.utf8), to: "order")
        let world = try made(file)
        try logIn(world, with: [Self.last])
        #expect(try logIn(made(file)).first == Self.last)
        // A line that is none takes the others with it.
        let whole = try directory.read("order")
        try directory.write(whole + Array("and more\n".utf8), to: "order")
        #expect(try logIn(made(file)) == Self.names)
    }

    @Test func `a link, a directory and a missing directory are no file, and no error`() throws {
        let directory = try TemporaryDirectory()
        let target = directory.path.appending("target")
        try directory.write([], to: "target")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path.appending("link").string, withDestinationPath: target.string)
        try FileManager.default.createDirectory(
            atPath: directory.path.appending("folder").string, withIntermediateDirectories: false)
        for name in ["link", "folder", "nowhere/order"] {
            let world = try made(directory.path.appending(name))
            try logIn(world, with: [Self.last])
            #expect(try logIn(world).first == Self.last)
        }
        #expect(try directory.read("target").isEmpty)
    }
}

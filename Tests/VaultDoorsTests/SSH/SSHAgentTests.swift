// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import VaultSSHAgent
import VaultDoorKit

/// The agent's answers, request by request.
struct SSHAgentTests {
    private let world = SSHWorld()
    private var line: SSHWorld.Line { world.connect() }

    private let lifetime: [UInt8] = [1, 0, 0, 0, 60]
    private let confirm: [UInt8] = [2]

    // MARK: Refusals

    @Test(arguments: [0, 1, 5, 6, 7, 8, 10, 12, 14, 20, 21, 24, 26, 28, 255] as [UInt8])
    func `a type that is no request is refused`(type: UInt8) throws {
        #expect(line.ask([type]) == SSHSamples.failure)
        #expect(line.ask([type, 0, 0, 0, 0]) == SSHSamples.failure)
    }

    @Test func `of a request that is cut short, or followed by more, nothing is done`() throws {
        let requests = [
            try SSHSamples.adding("ed25519"), try SSHSamples.adding("ecdsa256", constraints: []),
            try SSHSamples.adding("ed25519", certificate: "ed25519-cert.pub"), SSHSamples.locking(true, "p"),
            try SSHSamples.removing("ed25519.pub"), try SSHSamples.signing("ed25519.pub"), [11], [19], [9],
        ]
        for request in requests {
            for count in 1..<max(request.count, 2) where count < request.count {
                #expect(line.ask(Array(request[..<count])) == SSHSamples.failure)
            }
            #expect(line.ask(request + [9]) == SSHSamples.failure)
        }
        #expect(line.ask([]) == SSHSamples.failure)
        #expect(try line.comments().isEmpty)
    }

    @Test func `lengths and counts that no frame has are refused`() throws {
        let huge: [UInt8] = [255, 255, 255, 255]
        for type in [13, 17, 18, 22, 23, 25] as [UInt8] {
            #expect(line.ask([type] + huge) == SSHSamples.failure)
            #expect(line.ask([type] + huge + [UInt8](repeating: 1, count: 1000)) == SSHSamples.failure)
        }
        #expect(line.ask([27] + huge) == [28])
        let comment = String(repeating: "c", count: 4097)
        #expect(line.ask(try SSHSamples.adding("ed25519", comment: comment)) == SSHSamples.failure)
    }

    @Test func `a key with a constraint that is not known is not taken`() throws {
        let unknown: [[UInt8]] = [
            [3, 0, 0, 0, 1], [0], [254], [1, 0, 0], [1, 0, 0, 0, 0], lifetime + lifetime, confirm + confirm, [255],
            [255, 0, 0, 0, 1, 97], try SSHSamples.destinations([]),
        ]
        for constraints in unknown {
            #expect(line.ask(try SSHSamples.adding("ed25519", constraints: constraints)) == SSHSamples.failure)
        }
        #expect(try line.comments().isEmpty)
    }

    @Test func `an authentication by RSA with SHA-1 is refused, and what ssh-add -T asks for is not`() throws {
        #expect(line.ask(try SSHSamples.adding("rsa2048")) == SSHSamples.success)
        let sha1 = try SSHSamples.authentication("rsa2048.pub", algorithm: "ssh-rsa")
        #expect(line.ask(try SSHSamples.signing("rsa2048.pub", sha1)) == SSHSamples.failure)
        #expect(line.ask(try SSHSamples.signing("rsa2048.pub", sha1, flags: 1)) == SSHSamples.failure)
        let random = SeededRandom("T").bytes(1024)
        for flags in [0, 2, 4, 6] as [UInt32] {
            let answer = line.ask(try SSHSamples.signing("rsa2048.pub", random, flags: flags))
            #expect(try SSHWorld.isSignature(answer, by: "rsa2048.pub", of: random))
        }
    }

    @Test func `a key that is not there signs nothing and is not removed`() throws {
        #expect(line.ask(try SSHSamples.adding("ed25519")) == SSHSamples.success)
        for name in ["authority.pub", "ed25519-cert.pub"] {
            #expect(line.ask(try SSHSamples.signing(name)) == SSHSamples.failure)
            #expect(line.ask(try SSHSamples.removing(name)) == SSHSamples.failure)
        }
    }

    // MARK: Keys in memory

    @Test(arguments: SSHSamples.keys) func `a key is added, seen, signs and is removed`(name: String) throws {
        #expect(line.ask(try SSHSamples.adding(name, comment: "mine")) == SSHSamples.success)
        let identities = try SSHWorld.identities(line.ask([11]))
        #expect(identities.map(\.comment) == ["mine"])
        #expect(identities.first?.blob == (try SSHSamples.blob(name + ".pub")))
        let answer = line.ask(try SSHSamples.signing(name + ".pub", flags: 4))
        #expect(try SSHWorld.isSignature(answer, by: name + ".pub", of: SSHSamples.message))
        #expect(line.ask(try SSHSamples.removing(name + ".pub")) == SSHSamples.success)
        #expect(try line.comments().isEmpty)
        #expect(line.ask(try SSHSamples.signing(name + ".pub", flags: 4)) == SSHSamples.failure)
    }

    @Test(arguments: SSHSamples.certified) func `a certificate is a key of its own`(name: String) throws {
        let certificate = name + "-cert.pub"
        #expect(line.ask(try SSHSamples.adding(name, certificate: certificate)) == SSHSamples.success)
        #expect(try SSHWorld.identities(line.ask([11])).first?.blob == (try SSHSamples.blob(certificate)))
        #expect(line.ask(try SSHSamples.signing(name + ".pub", flags: 2)) == SSHSamples.failure)
        let answer = line.ask(try SSHSamples.signing(certificate, flags: 2))
        #expect(try SSHWorld.isSignature(answer, by: name + ".pub", of: SSHSamples.message))
    }

    @Test func `a certificate of another key is refused`() throws {
        let request = try SSHSamples.adding("authority", certificate: "ed25519-cert.pub")
        #expect(line.ask(request) == SSHSamples.failure)
        #expect(try line.comments().isEmpty)
    }

    @Test func `the same key once more gets the new comment and constraints`() throws {
        #expect(line.ask(try SSHSamples.adding("ed25519", constraints: lifetime)) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.adding("ecdsa256")) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.adding("ed25519", comment: "new")) == SSHSamples.success)
        #expect(try line.comments() == ["new", "c"])
        #expect(world.nextEnd == nil)
        #expect(line.ask([19]) == SSHSamples.success)
        #expect(line.ask([9]) == SSHSamples.success)
        #expect(try line.comments().isEmpty)
    }

    @Test func `a key goes when its time is over, and the next moment is told`() throws {
        #expect(line.ask(try SSHSamples.adding("ed25519", constraints: lifetime)) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.adding("ecdsa256", constraints: [1, 0, 0, 0, 90])) == SSHSamples.success)
        #expect(world.nextEnd == .seconds(60))
        world.pass(.seconds(59))
        #expect(try line.comments().count == 2)
        world.pass(.seconds(1))
        world.agent.removeEnded()
        #expect(world.nextEnd == .seconds(30))
        #expect(line.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
        world.pass(.seconds(30))
        #expect(line.ask(try SSHSamples.signing("ecdsa256.pub")) == SSHSamples.failure)
        #expect(world.nextEnd == nil)
    }

    @Test func `a person is asked before each use, with the key and the program, and no is no`() throws {
        #expect(line.ask(try SSHSamples.adding("ed25519", comment: "mine", constraints: confirm)) == SSHSamples.success)
        #expect(try line.comments() == ["mine"])
        world.says(.done, .unavailable, .dismissed)
        let request = try SSHSamples.signing("ed25519.pub")
        #expect(try SSHWorld.isSignature(line.ask(request), by: "ed25519.pub", of: SSHSamples.message))
        #expect(line.ask(request) == SSHSamples.failure)
        #expect(line.ask(request) == SSHSamples.failure)
        #expect(
            world.asked.first == [
                "Use the ssh key 'mine'", try SSHSamples.name("ed25519.pub").key.fingerprint(),
                "for 'ssh' (process 7)?",
            ])
        #expect(world.asked.count == 3)
    }

    @Test func `after a no nobody is asked for the program for half a minute, then for twice as long, until a yes`()
        throws
    {
        #expect(line.ask(try SSHSamples.adding("ed25519", constraints: confirm)) == SSHSamples.success)
        let request = try SSHSamples.signing("ed25519.pub")
        world.says(.dismissed, .dismissed, .done, .dismissed, .done)
        for (count, rest) in [(1, 30), (2, 60)] {
            #expect(line.ask(request) == SSHSamples.failure)
            #expect(world.asked.count == count)
            world.pass(.seconds(rest - 1))
            // Another connection of the program gets the same answer.
            #expect(world.connect().ask(request) == SSHSamples.failure)
            #expect(world.asked.count == count)
            world.pass(.seconds(1))
        }
        #expect(line.ask(request) != SSHSamples.failure)
        #expect(line.ask(request) == SSHSamples.failure)
        world.pass(.seconds(30))
        #expect(line.ask(request) != SSHSamples.failure)
    }

    @Test func `a key that goes while a person is asked does not sign`() throws {
        let world = world
        #expect(line.ask(try SSHSamples.adding("ed25519", constraints: confirm)) == SSHSamples.success)
        world.says(.done, .done)
        world.whenAsked { _ = world.connect().ask([19]) }
        #expect(line.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
        #expect(line.ask(try SSHSamples.adding("ed25519", constraints: confirm)) == SSHSamples.success)
        world.whenAsked { _ = world.connect().ask(SSHSamples.locking(true, "p")) }
        #expect(line.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
    }

    // MARK: Locking

    @Test func `a locked agent has no keys, takes none, and signs nothing`() throws {
        #expect(line.ask(try SSHSamples.adding("ed25519")) == SSHSamples.success)
        #expect(line.ask(SSHSamples.locking(true, "")) == SSHSamples.failure)
        #expect(line.ask(SSHSamples.locking(false, "p")) == SSHSamples.failure)
        #expect(line.ask(SSHSamples.locking(true, "p")) == SSHSamples.success)
        #expect(try line.comments().isEmpty)
        for request in [
            try SSHSamples.signing("ed25519.pub"), try SSHSamples.adding("ecdsa256"), [19], [9],
            try SSHSamples.removing("ed25519.pub"), SSHSamples.locking(true, "q"),
        ] { #expect(line.ask(request) == SSHSamples.failure) }
        #expect(line.ask(SSHSamples.locking(false, "P")) == SSHSamples.failure)
        #expect(line.ask(SSHSamples.locking(false, "")) == SSHSamples.failure)
        #expect(try line.comments().isEmpty)
        #expect(line.ask(SSHSamples.locking(false, "p")) == SSHSamples.success)
        #expect(try line.comments() == ["c"])
    }

    @Test func `each wrong passphrase makes the next try wait longer`() throws {
        #expect(line.ask(SSHSamples.locking(true, "p")) == SSHSamples.success)
        for _ in 0..<20 { #expect(line.ask(SSHSamples.locking(false, "x")) == SSHSamples.failure) }
        #expect(zip(world.waits, world.waits.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(world.waits.last == .milliseconds(1800))
        #expect(line.ask(SSHSamples.locking(false, "p")) == SSHSamples.success)
    }

    // MARK: Keys of the vault

    @Test func `with a vault keys go there, with their certificates, and those with constraints stay in memory`() throws
    {
        let world = SSHWorld(keepsKeys: true)
        let line = world.connect()
        #expect(line.ask(try SSHSamples.adding("ed25519", comment: "e")) == SSHSamples.success)
        #expect(
            line.ask(try SSHSamples.adding("ed25519", certificate: "ed25519-cert.pub", comment: "e"))
                == SSHSamples.success)
        #expect(line.ask(try SSHSamples.adding("ecdsa256", comment: "t", constraints: lifetime)) == SSHSamples.success)
        let way = try SSHSamples.destinations([(nil, .init(host: "h", keys: ["host.pub"]))])
        #expect(line.ask(try SSHSamples.adding("ecdsa384", comment: "d", constraints: way)) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.adding("rsa2048", comment: "c", constraints: confirm)) == SSHSamples.success)
        #expect(world.keyring.kept.map(\.comment) == ["e", "c"])
        #expect(world.keyring.kept.map(\.isConfirmed) == [false, true])
        #expect(try line.comments() == ["t", "d", "e", "e", "c"])
        for name in ["ed25519.pub", "ed25519-cert.pub"] {
            let answer = line.ask(try SSHSamples.signing(name))
            #expect(try SSHWorld.isSignature(answer, by: "ed25519.pub", of: SSHSamples.message))
        }
        world.says(.done)
        let answer = line.ask(try SSHSamples.signing("rsa2048.pub", flags: 2))
        #expect(try SSHWorld.isSignature(answer, by: "rsa2048.pub", of: SSHSamples.message))
        // Every key in memory, and the named key of the vault.
        #expect(line.ask([19]) == SSHSamples.success)
        #expect(try line.comments() == ["e", "e", "c"])
        #expect(line.ask(try SSHSamples.removing("ed25519.pub")) == SSHSamples.success)
        #expect(world.connect().ask(try SSHSamples.removing("ed25519-cert.pub")) == SSHSamples.failure)
        #expect(line.ask(try SSHSamples.removing("ed25519-cert.pub")) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.removing("ed25519-cert.pub")) == SSHSamples.failure)
        #expect(try line.comments() == ["c"])
    }

    @Test func `a key of the vault that is in memory as well is what it is in memory`() throws {
        let world = SSHWorld(keepsKeys: true)
        let line = world.connect()
        #expect(line.ask(try SSHSamples.adding("ed25519")) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.adding("ed25519", comment: "m", constraints: lifetime + confirm)) == [6])
        #expect(try line.comments() == ["m"])
        #expect(line.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
        world.pass(.seconds(60))
        let answer = line.ask(try SSHSamples.signing("ed25519.pub"))
        #expect(try SSHWorld.isSignature(answer, by: "ed25519.pub", of: SSHSamples.message))
    }

    @Test func `another machine uses what the vault keeps, and neither deletes nor adds there`() throws {
        let world = SSHWorld(keepsKeys: true)
        let (own, line, forged) = (world.connect(), world.connect(), world.connect())
        #expect(own.ask(try SSHSamples.adding("ed25519", comment: "e", constraints: confirm)) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.binding("host.pub", isForwarding: true)) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.removing("ed25519.pub")) == SSHSamples.failure)
        #expect(forged.ask(try SSHSamples.binding("host.pub", signedBy: "authority")) == [28])
        #expect(forged.ask(try SSHSamples.removing("ed25519.pub")) == SSHSamples.failure)
        #expect(line.ask(try SSHSamples.adding("ecdsa256", comment: "m")) == SSHSamples.success)
        #expect(world.keyring.kept.map(\.comment) == ["e"])
        #expect(try line.comments() == ["m", "e"])
        world.says(.done)
        let answer = line.ask(try SSHSamples.signing("ed25519.pub"))
        #expect(try SSHWorld.isSignature(answer, by: "ed25519.pub", of: SSHSamples.message))
        #expect(world.asked.last?.last == "The request comes from another machine.")
    }

    @Test func `a locked vault is asked for once in half a minute, and memory is served all the time`() throws {
        let world = SSHWorld(keepsKeys: true)
        let line = world.connect()
        #expect(line.ask(try SSHSamples.adding("ed25519", comment: "e")) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.adding("ecdsa256", comment: "m", constraints: lifetime)) == SSHSamples.success)
        world.keyring.isLocked = true
        world.says(.dismissed, .done)
        #expect(try line.comments() == ["m"])
        #expect(try line.comments() == ["m"])
        #expect(line.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
        #expect(line.ask(try SSHSamples.adding("rsa2048")) == SSHSamples.failure)
        #expect(world.asked.count == 1)
        world.pass(.seconds(31))
        #expect(try line.comments() == ["m", "e"])
        #expect(world.asked.count == 2)
        world.keyring.isLocked = true
        #expect(line.ask(try SSHSamples.signing("ecdsa256.pub")) != SSHSamples.failure)
        #expect(line.ask(try SSHSamples.removing("ed25519.pub")) == SSHSamples.failure)
        #expect(world.asked.count == 2)
    }

    @Test func `a vault that is locked while a person is asked signs nothing`() throws {
        let world = SSHWorld(keepsKeys: true)
        #expect(world.connect().ask(try SSHSamples.adding("ed25519", constraints: confirm)) == SSHSamples.success)
        world.says(.done, .done)
        world.whenAsked { world.keyring.isLocked = true }
        #expect(world.connect().ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
        #expect(world.asked.count == 1)
    }

    // MARK: Extensions

    @Test func `what the agent knows beside the protocol is said, and the rest is unknown`() throws {
        var query: [UInt8] = [27]
        query.put("query")
        var expected: [UInt8] = [29]
        for name in ["query", "query", "session-bind@openssh.com"] { expected.put(name) }
        #expect(line.ask(query) == expected)
        #expect(line.ask(query + [0]) == [28])
        var unknown: [UInt8] = [27]
        unknown.put("unknown@example.com")
        #expect(line.ask(unknown) == [28])
    }

    // MARK: Mutations

    @Test func `to changed requests there is an answer, and no key but those that were added`() throws {
        let random = SeededRandom("ssh agent")
        let (world, line) = (SSHWorld(), SSHWorld().connect())
        let way = try SSHSamples.destinations([
            (nil, .init(user: "ada", host: "h", keys: ["host.pub", "host2.pub"])),
            (.init(host: "h", keys: ["host.pub"]), .init(host: "*", keys: ["authority.pub"], isAuthority: true)),
        ])
        let seeds = [
            try SSHSamples.adding("ed25519", constraints: lifetime + way), try SSHSamples.adding("ecdsa256"),
            try SSHSamples.adding("ed25519", certificate: "ed25519-cert.pub", constraints: confirm),
            try SSHSamples.signing("ed25519.pub"), try SSHSamples.removing("ed25519.pub"),
            try SSHSamples.binding("host.pub", isForwarding: true), try SSHSamples.binding("host-cert.pub"),
            try SSHSamples.signing("ed25519.pub", SSHSamples.authentication("ed25519.pub", host: "host.pub")),
        ]
        let keys = try ["ed25519.pub", "ecdsa256.pub"].map { try SSHSamples.name($0).key }
        let connection = world.connect()
        for _ in 0..<3000 {
            let request = random.mutated(random.element(of: seeds))
            guard let type = request.first, type != 22 else { continue }
            let answer = (random.chance(50) ? connection : line).ask(request)
            #expect([5, 6, 12, 14, 28, 29].contains(answer.first))
        }
        for (blob, _) in try SSHWorld.identities(world.connect().ask([11])) {
            #expect(keys.contains(try SSHKeyName(bytes: blob).key))
        }
    }
}

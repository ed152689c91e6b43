// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultSSHAgent

/// Connections bound to hosts, and keys restricted to certain hosts.
struct SSHDestinationTests {
    private typealias Hop = SSHSamples.Hop

    private let world = SSHWorld()
    private let session: [UInt8] = [1, 2, 3]
    private let next: [UInt8] = [4, 5, 6]

    private func add(_ ways: [(from: Hop?, to: Hop)]) throws {
        let request = try SSHSamples.adding("ed25519", constraints: SSHSamples.destinations(ways))
        #expect(world.connect().ask(request) == SSHSamples.success)
    }

    private func signs(_ line: SSHWorld.Line, _ message: [UInt8]) throws -> Bool {
        let answer = line.ask(try SSHSamples.signing("ed25519.pub", message))
        guard answer != SSHSamples.failure else { return false }
        return try SSHWorld.isSignature(answer, by: "ed25519.pub", of: message)
    }

    // MARK: Binding

    @Test(arguments: ["host.pub", "host2.pub", "host-cert.pub", "rsa2048.pub", "ecdsa521.pub"])
    func `a host binds what it has signed, and nothing else`(host: String) throws {
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding(host, signedBy: "authority")) == [28])
        var forged = try SSHSamples.binding(host)
        forged[forged.count - 3] ^= 1
        #expect(line.ask(forged) == [28])
        #expect(line.ask(try SSHSamples.binding(host)) == SSHSamples.success)
    }

    @Test func `a session without bytes, with too many, and one that is cut short are refused`() throws {
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding("host.pub", session: [])) == [28])
        #expect(line.ask(try SSHSamples.binding("host.pub", session: [UInt8](repeating: 1, count: 129))) == [28])
        let request = try SSHSamples.binding("host.pub")
        for count in 1..<request.count { #expect(line.ask(Array(request[..<count])) == [28]) }
        #expect(line.ask(request + [0]) == [28])
    }

    @Test func `after an authentication no other host is bound, and a session is of one host`() throws {
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding("host.pub", isForwarding: true)) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.binding("host.pub", isForwarding: true)) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.binding("host2.pub", isForwarding: true)) == [28])
        #expect(line.ask(try SSHSamples.binding("host2.pub", session: next)) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.binding("host.pub", session: [7])) == [28])
    }

    @Test func `there are sixteen hosts at most`() throws {
        let line = world.connect()
        for number in 0..<17 as Range<UInt8> {
            let answer = line.ask(try SSHSamples.binding("host.pub", session: [number], isForwarding: true))
            #expect(answer == (number < 16 ? SSHSamples.success : [28]))
        }
    }

    // MARK: Keys restricted to hosts

    @Test func `destinations that say too little, or more than is known, are refused`() throws {
        let host = Hop(host: "h", keys: ["host.pub"])
        for ways: [(from: Hop?, to: Hop)] in [
            [(nil, Hop(host: "", keys: ["host.pub"]))], [(nil, Hop(host: "h", keys: []))],
            [(Hop(user: "ada", host: "h", keys: ["host.pub"]), host)], [(Hop(host: "h", keys: []), host)],
            [(Hop(host: "", keys: ["host.pub"]), host)], [(nil, host), (nil, Hop(host: "h", keys: []))],
        ] {
            let request = try SSHSamples.adding("ed25519", constraints: SSHSamples.destinations(ways))
            #expect(world.connect().ask(request) == SSHSamples.failure)
        }
        let way = try SSHSamples.destinations([(nil, host)])
        for index in way.indices {
            for count in [index, way.count - 1] where count < way.count {
                let request = try SSHSamples.adding("ed25519", constraints: Array(way[..<count]))
                #expect((world.connect().ask(request) == SSHSamples.failure) == (count > 0))
            }
        }
        let twice = try SSHSamples.adding("ed25519", constraints: way + way)
        #expect(world.connect().ask(twice) == SSHSamples.failure)
    }

    @Test func `a key that goes to one host signs for it alone`() throws {
        try add([(nil, Hop(host: "h", keys: ["host.pub"]))])
        let free = world.connect()
        #expect(try free.comments() == ["c"])
        #expect(try !signs(free, SSHSamples.message))
        #expect(try !signs(free, SSHSamples.authentication("ed25519.pub")))
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding("host.pub")) == SSHSamples.success)
        #expect(try line.comments() == ["c"])
        #expect(try signs(line, SSHSamples.authentication("ed25519.pub")))
        #expect(try signs(line, SSHSamples.authentication("ed25519.pub", host: "host.pub")))
        for message in [
            SSHSamples.message, try SSHSamples.authentication("ed25519.pub", session: next),
            try SSHSamples.authentication("ed25519.pub", host: "host2.pub"),
            try SSHSamples.authentication("authority.pub"),
            try SSHSamples.authentication("ed25519.pub", algorithm: "ssh-rsa"),
            try SSHSamples.authentication("ed25519.pub") + [0],
        ] { #expect(try !signs(line, message)) }
        let other = world.connect()
        #expect(other.ask(try SSHSamples.binding("host2.pub")) == SSHSamples.success)
        #expect(try other.comments().isEmpty)
        #expect(try !signs(other, SSHSamples.authentication("ed25519.pub")))
        #expect(other.ask(try SSHSamples.removing("ed25519.pub")) == SSHSamples.failure)
        #expect(other.ask(try SSHSamples.adding("ed25519")) == SSHSamples.failure)
    }

    @Test func `where a binding failed no such key is seen`() throws {
        try add([(nil, Hop(host: "h", keys: ["host.pub"]))])
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding("host.pub", signedBy: "authority")) == [28])
        #expect(try line.comments().isEmpty)
        #expect(try !signs(line, SSHSamples.authentication("ed25519.pub")))
    }

    @Test func `a key that goes to a host is not used from there, unless a way leads on`() throws {
        try add([(nil, Hop(host: "h", keys: ["host.pub"]))])
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding("host.pub", isForwarding: true)) == SSHSamples.success)
        #expect(try line.comments().isEmpty)
        #expect(try !signs(line, SSHSamples.authentication("ed25519.pub")))
        try add([
            (nil, Hop(host: "h", keys: ["host.pub"])),
            (Hop(host: "h", keys: ["host.pub"]), Hop(host: "i", keys: ["host2.pub"])),
        ])
        #expect(try line.comments() == ["c"])
        #expect(try !signs(line, SSHSamples.authentication("ed25519.pub")))
        #expect(line.ask(try SSHSamples.binding("host2.pub", session: next)) == SSHSamples.success)
        #expect(
            try signs(line, SSHSamples.authentication("ed25519.pub", session: next, host: "host2.pub")))
        // The authentication must name the second host's key.
        #expect(try !signs(line, SSHSamples.authentication("ed25519.pub", session: next)))
        #expect(
            try !signs(line, SSHSamples.authentication("ed25519.pub", session: session, host: "host2.pub")))
        let direct = world.connect()
        #expect(direct.ask(try SSHSamples.binding("host2.pub")) == SSHSamples.success)
        #expect(try direct.comments().isEmpty)
    }

    @Test func `a way for one user is for no other`() throws {
        try add([(nil, Hop(user: "a*", host: "h", keys: ["host.pub"]))])
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding("host.pub")) == SSHSamples.success)
        #expect(try line.comments() == ["c"])
        #expect(try signs(line, SSHSamples.authentication("ed25519.pub", user: "ada")))
        #expect(try !signs(line, SSHSamples.authentication("ed25519.pub", user: "root")))
    }

    @Test func `a host is known by its authority, for the names that its certificate has`() throws {
        for (pattern, isRight) in [("host.example.com", true), ("*.example.com", true), ("example.com", false)] {
            try add([(nil, Hop(host: pattern, keys: ["authority.pub"], isAuthority: true))])
            let line = world.connect()
            #expect(line.ask(try SSHSamples.binding("host-cert.pub")) == SSHSamples.success)
            #expect(try line.comments().isEmpty == !isRight)
            #expect(try signs(line, SSHSamples.authentication("ed25519.pub")) == isRight)
            // The host's plain key is not vouched for by the authority, and a user certificate does not identify a
            // host.
            let plain = world.connect()
            #expect(plain.ask(try SSHSamples.binding("host.pub")) == SSHSamples.success)
            #expect(try plain.comments().isEmpty)
            let user = world.connect()
            #expect(user.ask(try SSHSamples.binding("ecdsa256-cert.pub")) == SSHSamples.success)
            #expect(try user.comments().isEmpty)
        }
    }
}

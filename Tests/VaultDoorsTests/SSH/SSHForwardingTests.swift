// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultSSHAgent
import VaultDoorKit

/// Connections over which another machine asks.
struct SSHForwardingTests {
    private typealias Hop = SSHSamples.Hop

    private let world = SSHWorld(keepsKeys: true)

    /// Returns a connection that ssh(1) has forwarded to a host.
    private func forwarded(_ world: SSHWorld) throws -> SSHWorld.Line {
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding("host.pub", isForwarding: true)) == SSHSamples.success)
        return line
    }

    @Test func `another machine neither locks the agent nor opens it, and removes no keys but those it names`() throws {
        let (own, line) = (world.connect(), try forwarded(world))
        #expect(own.ask(try SSHSamples.adding("ecdsa256", constraints: [1, 0, 0, 0, 60])) == SSHSamples.success)
        for request in [SSHSamples.locking(true, "p"), [19], [9]] {
            #expect(line.ask(request) == SSHSamples.failure)
            #expect(try own.comments() == ["c"])
        }
        #expect(own.ask(SSHSamples.locking(true, "p")) == SSHSamples.success)
        #expect(line.ask(SSHSamples.locking(false, "p")) == SSHSamples.failure)
        #expect(try own.comments().isEmpty)
        // Guesses over a forwarded connection do not delay local clients either.
        for _ in 0..<20 { #expect(line.ask(SSHSamples.locking(false, "x")) == SSHSamples.failure) }
        #expect(world.waits.isEmpty)
        #expect(own.ask(SSHSamples.locking(false, "p")) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.removing("ecdsa256.pub")) == SSHSamples.success)
    }

    @Test(arguments: [nil, "authority"])
    func `a line that was lent while the agent was locked is another machine's`(signer: String?) throws {
        let (own, line) = (world.connect(), world.connect())
        let way = try SSHSamples.destinations([(nil, Hop(host: "h", keys: ["host2.pub"]))])
        #expect(own.ask(try SSHSamples.adding("ecdsa256", constraints: way)) == SSHSamples.success)
        #expect(own.ask(try SSHSamples.adding("ed25519", comment: "kept", constraints: [2])) == SSHSamples.success)
        #expect(own.ask(SSHSamples.locking(true, "p")) == SSHSamples.success)
        // The agent records ssh(1)'s claim about the host, true or not; ssh(1) continues after either answer.
        let bind = try SSHSamples.binding("host.pub", signedBy: signer, isForwarding: true)
        #expect(line.ask(bind) == (signer == nil ? SSHSamples.success : [28]))
        #expect(line.ask(SSHSamples.locking(false, "p")) == SSHSamples.failure)
        #expect(own.ask(SSHSamples.locking(false, "p")) == SSHSamples.success)
        #expect(try line.comments() == ["kept"])
        for message in [SSHSamples.message, try SSHSamples.authentication("ecdsa256.pub")] {
            #expect(line.ask(try SSHSamples.signing("ecdsa256.pub", message)) == SSHSamples.failure)
        }
        #expect(line.ask(try SSHSamples.removing("ed25519.pub")) == SSHSamples.failure)
        #expect(line.ask(try SSHSamples.adding("rsa2048")) == SSHSamples.success)
        #expect(world.keyring.kept.map(\.comment) == ["kept"])
        world.says(.done)
        _ = line.ask(try SSHSamples.signing("ed25519.pub"))
        #expect(world.asked.last?.last == "The request comes from another machine.")
    }

    @Test func `a line that was lent stays so when a host is named that cannot be believed`() throws {
        let line = world.connect()
        #expect(line.ask(try SSHSamples.binding("host.pub")) == SSHSamples.success)
        #expect(line.ask(try SSHSamples.binding("host2.pub", signedBy: "authority")) == [28])
        #expect(line.ask(try SSHSamples.binding("host.pub")) == [28])
        #expect(line.ask(SSHSamples.locking(true, "p")) == SSHSamples.failure)
    }

    @Test func `a person who is to unlock the vault hears that another machine wants it`() throws {
        let (own, line) = (world.connect(), try forwarded(world))
        world.keyring.isLocked = true
        world.says(.dismissed, .dismissed)
        #expect(try line.comments().isEmpty)
        #expect(world.asked == [["The request comes from another machine."]])
        world.pass(.seconds(31))
        #expect(try own.comments().isEmpty)
        #expect(world.asked.last == [])
    }
}

// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VaultBus

/// Owners of names on a bus.
@Suite(.enabled(if: SecretServiceWorld.hasBus))
struct BusNamesTests {
    private static let name = "org.freedesktop.secrets"

    @Test func `a bus that is not there, that is none and that has gone are told apart from a name without an owner`()
        throws
    {
        for address in ["unix:path=/nowhere/at/all", "no address", ""] {
            #expect(throws: BusError.unreachable) { _ = try BusNames(address: address) }
        }
        let world = try SecretServiceWorld("nothing")
        let names = try BusNames(address: world.address)
        #expect(try names.owner(of: Self.name) == nil)
        #expect(try names.owner(of: "no name at all") == nil)
        try world.ask("stop")
        #expect(throws: BusError.lost) { _ = try names.owner(of: Self.name) }
    }

    @Test func `the owner of a name is a connection and its process, which is not called`() throws {
        let world = try SecretServiceWorld("provider", "silence")
        let names = try BusNames(address: world.address)
        let owner = try #require(try names.owner(of: Self.name))
        #expect(owner.connection.hasPrefix(":1."))
        #expect(owner.process == Int32(try world.ask("pid")))
        #expect(try world.ask("asked") == "")
        try names.reloadConfiguration()
    }
}

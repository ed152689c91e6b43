// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

@testable import Vault

struct HostPlacesTests {
    private static func query(_ itemClass: ItemClass, _ hosts: [String]) -> Query {
        var query = Query(itemClass)
        query.face = .hosts(hosts)
        return query
    }

    private static func found(_ itemClass: ItemClass, _ hosts: [String], in vault: Vault) -> [String] {
        ((try? vault.copyMatching(query(itemClass, hosts))) ?? []).compactMap(\.account)
    }

    @Test func `only passwords have hosts`() {
        let attributes = EncodedAttributes(AttributeList(), user: ["url": "https://a.example"])
        #expect(HostPlaces.hosts(.key, attributes).isEmpty && HostPlaces.hosts(.certificate, attributes).isEmpty)
        #expect(HostPlaces.hosts(nil, attributes).isEmpty)
        #expect(HostPlaces.hosts(.genericPassword, attributes) == ["a.example"])
    }

    @Test func `an item is at each of its hosts, once, until it moves`() {
        var places = HostPlaces()
        places.move(7, from: [], to: ["a", "b"])
        places.move(3, from: [], to: ["b"])
        #expect(places.places(of: ["a", "b"]) == [3, 7] && places.places(of: ["c"]) == [])
        places.move(7, from: ["a", "b"], to: ["b", "c"])
        #expect(places.places(of: ["a"]) == [] && places.places(of: ["c"]) == [7])
        #expect(places.places(of: ["b"]) == [3, 7])
        places.move(3, from: ["b"], to: [])
        places.move(5, from: ["x"], to: [])
        #expect(places.places(of: ["b", "c", "x"]) == [7])
    }

    @Test func `a vault finds the items of a host, whatever is changed, deleted or opened again`() throws {
        let test = try TestVault()
        let vault = test.vault
        try vault.add(Item(.internetPassword(server: "WWW.a.example", account: "1"), secret: "x"))
        try vault.add(
            Item(
                .internetPassword(server: "b.example", account: "2"), userAttributes: ["url.2": "https://a.example/x"],
                secret: "x"))
        try vault.add(Item(.internetPassword(server: "not-a.example", account: "3"), secret: "x"))
        try vault.add(Item(.genericPassword(service: "https://a.example", account: "4"), secret: "x"))
        for opened in [vault, try test.reopened()] {
            #expect(Self.found(.internetPassword, ["a.example", "www.a.example"], in: opened) == ["1", "2"])
            #expect(Self.found(.internetPassword, ["a.example"], in: opened) == ["2"])
            #expect(Self.found(.genericPassword, ["a.example"], in: opened) == ["4"])
            #expect(Self.found(.internetPassword, ["c.example"], in: opened) == [])
        }
        try vault.update(
            matching: Query(.internetPassword, account: "2"),
            with: ItemChanges(userAttributes: ["url.2": "https://c.example"]))
        try vault.delete(matching: Query(.genericPassword))
        #expect(Self.found(.internetPassword, ["a.example"], in: vault) == [])
        #expect(Self.found(.internetPassword, ["c.example"], in: vault) == ["2"])
        #expect(Self.found(.genericPassword, ["a.example"], in: vault) == [])
    }
}

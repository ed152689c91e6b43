// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

@testable import VaultAgent
@testable import VaultAgentServer

/// Conflicting changes of two devices, through an agent.
struct ConflictsTests {
    @Test func `an agent shows what there is to choose from, and keeps what is chosen`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        try client.add(.generic("same", "own"))
        try pair.other.add(.generic("same", "other"))
        try pair.sync()
        _ = try client.synced()
        let conflict = try #require(try client.conflicts(revealing: true).first)
        #expect(conflict.field == "shadow" && conflict.values.count == 2)
        #expect(Set(conflict.values.compactMap { $0.secret?.text }) == ["own", "other"])
        #expect(throws: VaultError.itemChanged) {
            try client.ask(
                ResolveConflictRequest(
                    key: StoredItem.Key(try #require(conflict.item.record)), field: "shadow", number: 1, time: 1))
        }
        #expect(throws: VaultError.itemNotFound) { try client.resolve(conflict, keeping: 3) }
        let own = try #require(conflict.values.firstIndex { $0.secret?.text == "own" })
        try client.resolve(conflict, keeping: own + 1)
        #expect(try client.conflicts(revealing: false).isEmpty)
        #expect(throws: VaultError.itemChanged) { try client.resolve(conflict, keeping: own + 1) }
        var query = Query(.genericPassword, service: "same")
        query.returnsSecrets = true
        #expect(try client.copyMatching(query).map { $0.secret?.text } == ["own"])
    }
}

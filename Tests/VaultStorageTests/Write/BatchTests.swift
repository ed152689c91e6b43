// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Several transactions that become durable together.
struct BatchTests {
    @Test func `a value that a later transaction of the batch replaced can still be opened in it`() throws {
        let store = try Home("batch").create()
        try store.keepHistory(3)
        let secrets = try ["one", "two", "three"].map { try Secret(text: $0) }
        var opened: [[UInt8]?] = []
        try store.write { session in
            var current: Operation?
            for secret in secrets {
                try? session.transaction { (session: inout WriteSession) throws(StorageError) in
                    if var past = current {
                        past.kind = .past
                        try session.stage(past, value: .keep)
                    }
                    var operation =
                        current
                        ?? Operation(
                            kind: .put, itemClass: .genericPassword, protection: .whenUnlocked,
                            id: session.makeItemID(), version: 0,
                            valueVersion: 0, ordinal: session.nextOrdinal, created: 0, modified: 0, value: nil,
                            deviceID: .init(repeating: 0), attributes: .init())
                    operation.version += 1
                    current = try session.stage(operation, value: .set(secret))
                }
                current = current.flatMap { store.records[$0.id] }
            }
            for past in store.records.past.values.joined() { opened.append(try? store.openValue(of: past)?.exposed) }
        }
        #expect(opened == [Array("one".utf8), Array("two".utf8)])
        #expect(try store.verify(deep: true).opened == 3)
    }
}

// SPDX-License-Identifier: Apache-2.0
package import Vault

/// Asks whether a server has refused an item's secret, or reports that one has.
package struct RefusalRequest: AgentRequest {
    /// The number is 1 if the secret is refused.
    package typealias Reply = CountReply
    package static let kind: UInt8 = 57
    package let item: StoredItem.Key
    /// Whether it was refused just now.
    package let isNew: Bool

    package init(_ item: StoredItem.Key, isNew: Bool) {
        self.item = item
        self.isNew = isNew
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(item)
        writer.put(isNew)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        item = try reader.read()
        isNew = try reader.read()
    }
}

extension AgentClient: RefusalStore {
    package func isRefused(_ record: ItemRecord) throws(VaultError) -> Bool {
        try count(RefusalRequest(StoredItem.Key(record), isNew: false)) > 0
    }

    package func noteRefusal(of record: ItemRecord) throws(VaultError) {
        _ = try ask(RefusalRequest(StoredItem.Key(record), isNew: true))
    }
}

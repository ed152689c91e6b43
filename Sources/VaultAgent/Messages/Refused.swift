// SPDX-License-Identifier: Apache-2.0
package import Vault

/// Asks whether a server has refused an item's secret, or reports that one has.
package struct RefusalRequest: CountRequest, Formed {
    /// The number is 1 if the secret is refused.
    package static let kind: UInt8 = 57
    package static let form = MessageForm(Self.init) { ($0.item, $0.isNew) }
    package let item: StoredItem.Key
    /// Whether it was refused just now.
    package let isNew: Bool
}

extension AgentClient: RefusalStore {
    package func isRefused(_ record: ItemRecord) throws(VaultError) -> Bool {
        try count(RefusalRequest(item: StoredItem.Key(record), isNew: false)) > 0
    }

    package func noteRefusal(of record: ItemRecord) throws(VaultError) {
        _ = try ask(RefusalRequest(item: StoredItem.Key(record), isNew: true))
    }
}

// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
package import VaultCrypto
package import VaultStorage

/// The request was carried out.
package struct DoneReply: AgentReply {
    package static let kind: UInt8 = 128

    package init() {}

    package func write(to writer: inout MessageWriter) {}

    package init(from reader: inout MessageReader) {}
}

/// The request was not carried out, for the given reason.
package struct FailureReply: ValueReply {
    package static let kind: UInt8 = 129
    package let value: VaultError

    package init(_ value: VaultError) { self.value = value }
}

package struct StatusReply: ValueReply {
    package static let kind: UInt8 = 130
    package let value: AgentStatus

    package init(_ value: AgentStatus) { self.value = value }
}

/// A number of items.
package struct CountReply: AgentReply, Formed {
    package static let kind: UInt8 = 131
    package static let form = MessageForm(Self.init(count:)) { $0.count }
    package let count: UInt64

    private init(count: UInt64) { self.count = count }

    package init(_ count: Int) { self.count = UInt64(count) }
}

/// Items, or a part of them.
package struct ItemsReply: AgentReply, Formed {
    package static let kind: UInt8 = 132
    package static let form = MessageForm(Self.init) { ($0.items, $0.isLast) }
    package let items: [StoredItem]
    package let isLast: Bool

    package init(_ items: [StoredItem], isLast: Bool) {
        self.items = items
        self.isLast = isLast
    }
}

/// The secret of an item; `nil` if it has none.
package struct SecretReply: ValueReply {
    package static let kind: UInt8 = 133
    package let value: Secret?

    package init(_ value: Secret?) { self.value = value }
}

package struct VerificationReply: ValueReply {
    package static let kind: UInt8 = 134
    package let value: Verification

    package init(_ value: Verification) { self.value = value }
}

extension Verification: MessageValue, Formed {
    package static let form = MessageForm(Self.init) {
        ($0.items, $0.versions, $0.values, $0.opened, $0.commits, $0.foreign, $0.unfinishedBytes, $0.invalidMarks)
    }
}

package struct AuditReply: AgentReply, Formed {
    package static let kind: UInt8 = 135
    package static let form = MessageForm(Self.init) { ($0.entries, $0.firstChanged) }
    /// The number of entries of the audit log, and the number of the first altered one.
    package let entries: Int
    package let firstChanged: Int?

    package init(entries: Int, firstChanged: Int?) { (self.entries, self.firstChanged) = (entries, firstChanged) }
}

/// The identifier of the device.
package struct IdentifierReply: AgentReply, Formed {
    package static let kind: UInt8 = 136
    package static let form = MessageForm<Self>(checking: { text in
        UUID(uuidString: text).flatMap { $0.uuidString == text ? Self($0) : nil }
    }) { $0.identifier.uuidString }
    package let identifier: UUID

    package init(_ identifier: UUID) { self.identifier = identifier }
}

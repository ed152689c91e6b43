// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
package import VaultCrypto
package import VaultStorage

/// The request was carried out.
package struct DoneReply: AgentReply, EmptyMessage {
    package static let kind: UInt8 = 128

    package init() {}
}

/// The request was not carried out, for the given reason.
package struct FailureReply: AgentReply, ValueMessage {
    package static let kind: UInt8 = 129
    package let value: VaultError

    package init(_ value: VaultError) { self.value = value }
}

package struct StatusReply: AgentReply, ValueMessage {
    package static let kind: UInt8 = 130
    package let value: AgentStatus

    package init(_ value: AgentStatus) { self.value = value }
}

/// A number of items.
package struct CountReply: AgentReply {
    package static let kind: UInt8 = 131
    package let count: UInt64

    package init(_ count: Int) { self.count = UInt64(count) }

    package func write(to writer: inout MessageWriter) { writer.put(count) }

    package init(from reader: inout MessageReader) throws(MessageError) { count = try reader.read() }
}

/// Items, or a part of them.
package struct ItemsReply: AgentReply {
    package static let kind: UInt8 = 132
    package let items: [StoredItem]
    package let isLast: Bool

    package init(_ items: [StoredItem], isLast: Bool) {
        self.items = items
        self.isLast = isLast
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(items)
        writer.put(isLast)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        items = try reader.read()
        isLast = try reader.read()
    }
}

/// The secret of an item; `nil` if it has none.
package struct SecretReply: AgentReply, ValueMessage {
    package static let kind: UInt8 = 133
    package let value: Secret?

    package init(_ value: Secret?) { self.value = value }
}

package struct VerificationReply: AgentReply {
    package static let kind: UInt8 = 134
    package let result: Verification

    package init(_ result: Verification) { self.result = result }

    package func write(to writer: inout MessageWriter) {
        for number in [
            result.items, result.versions, result.values, result.opened, result.commits, result.foreign,
            result.unfinishedBytes, result.invalidMarks,
        ] {
            writer.put(UInt64(number))
        }
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        func number() throws(MessageError) -> Int {
            guard let number = Int(exactly: try reader.read() as UInt64) else { throw .invalid }
            return number
        }
        result = Verification(
            items: try number(), versions: try number(), values: try number(), opened: try number(),
            commits: try number(), foreign: try number(), unfinishedBytes: try number(), invalidMarks: try number())
    }
}

package struct AuditReply: AgentReply {
    package static let kind: UInt8 = 135
    /// The number of entries of the audit log, and the number of the first altered one.
    package let entries: UInt64
    package let firstChanged: UInt64?

    package init(entries: Int, firstChanged: Int?) {
        self.entries = UInt64(entries)
        self.firstChanged = firstChanged.map { UInt64($0) }
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(entries)
        writer.put(firstChanged)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        entries = try reader.read()
        firstChanged = try reader.read()
    }
}

/// The identifier of the device.
package struct IdentifierReply: AgentReply {
    package static let kind: UInt8 = 136
    package let identifier: UUID

    package init(_ identifier: UUID) { self.identifier = identifier }

    package func write(to writer: inout MessageWriter) { writer.put(identifier.uuidString) }

    package init(from reader: inout MessageReader) throws(MessageError) {
        let text: String = try reader.read()
        guard let identifier = UUID(uuidString: text), identifier.uuidString == text else { throw .invalid }
        self.identifier = identifier
    }
}

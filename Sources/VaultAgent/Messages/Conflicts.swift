// SPDX-License-Identifier: Apache-2.0
package import Vault
internal import VaultCrypto
internal import VaultFormat

// Conflicts, and their resolution.

/// Requests the conflicts that a person has to resolve, with their secrets.
package struct ConflictsRequest: ValueRequest, OnlyReads {
    package typealias Reply = ConflictReply
    package static let kind: UInt8 = 45
    /// Whether the secrets are shown to a person.
    package let value: Bool
}

/// A conflict, followed by others; `nil` after the last one.
package struct ConflictReply: ValueReply {
    package static let kind: UInt8 = 141
    package let value: StoredConflict?

    package init(_ value: StoredConflict?) { self.value = value }
}

/// Keeps one value of a conflict.
package struct ResolveConflictRequest: DoneRequest, Formed {
    package static let kind: UInt8 = 46
    package static let form = MessageForm(Self.init) { ($0.key, $0.field, $0.number, $0.time) }
    package let key: StoredItem.Key
    package let field: String
    /// The number of the value, from 1.
    package let number: UInt32
    /// The time of that value, in seconds since 2001-01-01T00:00:00Z: another value may have its number meanwhile.
    package let time: Double
}

/// The encoded form of a conflict.
package struct StoredConflict: MessageValue, Formed, Sendable {
    private struct Value: MessageValue, Formed, Sendable {
        static let form = MessageForm(Self.init) {
            ($0.log, $0.time, $0.text, $0.secret, $0.isRemoval, $0.item, $0.isHereOnly)
        }
        let log: LogID
        let time: UInt64
        let text: String?
        let secret: Secret?
        let isRemoval: Bool
        let item: StoredItem?
        let isHereOnly: Bool

    }

    package static let form = MessageForm(Self.init(item:field:values:)) { ($0.item, $0.field, $0.values) }
    private let item: StoredItem
    private let field: String
    private let values: [Value]

    private init(item: StoredItem, field: String, values: [Value]) {
        (self.item, self.field, self.values) = (item, field, values)
    }

    /// Fails for an item that is not stored.
    package init?(_ conflict: ItemConflict) {
        guard let item = StoredItem(conflict.item) else { return nil }
        self.init(
            item: item, field: conflict.field,
            values: conflict.values.map { value in
                Value(
                    log: value.log, time: value.time.bitPattern, text: value.text, secret: value.secret,
                    isRemoval: value.isRemoval, item: value.item.flatMap { StoredItem($0) },
                    isHereOnly: value.isHereOnly)
            })
    }

    /// Whether the conflict fits into a frame.
    package var fits: Bool {
        var writer = MessageWriter()
        writer.put(Optional(self))
        return writer.body.count <= Frame.longestBody && writer.secretsLength <= Frame.longestSecrets
    }

    fileprivate func conflict(_ client: AgentClient) -> ItemConflict? {
        guard let item = Item(item, client) else { return nil }
        var opened: [ItemConflict.Value] = []
        for value in values {
            let rival = value.item.flatMap { Item($0, client) }
            guard (rival == nil) == (value.item == nil) else { return nil }
            opened.append(
                ItemConflict.Value(
                    log: value.log, time: Double(bitPattern: value.time), text: value.text, secret: value.secret,
                    isRemoval: value.isRemoval, item: rival, isHereOnly: value.isHereOnly))
        }
        return ItemConflict(item: item, field: field, values: opened)
    }
}

extension AgentClient {
    /// Returns the conflicts like ``Vault/Vault/conflicts()``.
    ///
    /// - Throws: `.agent(.protocolViolation)`, also if the agent is older than the message; `.unimplemented` if a
    ///   conflict is too large for a frame.
    package func conflicts(revealing: Bool) throws(VaultError) -> [ItemConflict] {
        let replies = try exchange([ConflictsRequest(revealing)], until: { $0.value == nil })
        var conflicts: [ItemConflict] = []
        for reply in replies.dropLast() {
            guard let conflict = reply.value?.conflict(self) else { throw .agent(.protocolViolation) }
            conflicts.append(conflict)
        }
        return conflicts
    }

    /// Keeps one value of a conflict, numbered from 1.
    ///
    /// - Throws: `.itemChanged` if the conflict has changed.
    package func resolve(_ conflict: ItemConflict, keeping number: Int) throws(VaultError) {
        guard let record = conflict.item.record, conflict.values.indices.contains(number - 1) else {
            throw .itemNotFound
        }
        _ = try ask(
            ResolveConflictRequest(
                key: StoredItem.Key(record), field: conflict.field, number: UInt32(number),
                time: conflict.values[number - 1].time))
    }
}

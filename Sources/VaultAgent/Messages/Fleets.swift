// SPDX-License-Identifier: Apache-2.0
package import Vault

/// Syncs the vault with the remotes of its fleet.
package struct SyncRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 27
    package static let form = MessageForm(Self.init) { $0.withFingerprint }
    /// Whether the result includes the fingerprint that people compare.
    package let withFingerprint: Bool

    package init(withFingerprint: Bool) { self.withFingerprint = withFingerprint }
}

/// The result of a sync, the state of a fleet, or a part of either; further replies have the rest.
package struct SyncReply: AgentReply, Formed {
    package static let kind: UInt8 = 138
    package static let form = MessageForm(Self.init) { ($0.part, $0.isLast) }
    package let part: [UInt8]
    package let isLast: Bool

    package init(_ part: [UInt8], isLast: Bool) { (self.part, self.isLast) = (part, isLast) }

    /// Splits an encoded value into as many replies as necessary.
    package static func parts(of value: some MessageValue) -> [SyncReply] {
        var writer = MessageWriter()
        writer.put(value)
        let body = writer.body
        let longest = 128 << 10
        let starts = Array(stride(from: 0, to: max(body.count, 1), by: longest))
        return starts.map { start in
            let end = min(start + longest, body.count)
            return SyncReply(Array(body[start..<end]), isLast: start == starts.last)
        }
    }

    /// Decodes the value from all replies.
    ///
    /// - Throws: `.agent(.protocolViolation)`.
    static func value<Value: MessageValue>(of replies: [SyncReply]) throws(VaultError) -> Value {
        var reader = MessageReader(replies.flatMap(\.part), secrets: nil)
        do throws(MessageError) {
            let value: Value = try reader.read()
            try reader.end()
            return value
        } catch { throw .agent(.protocolViolation) }
    }
}

/// Requests the vault's knowledge of its fleet, without a look at a remote.
package struct FleetRequest: EmptyRequest, OnlyReads {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 35

    package init() {}
}

/// Requests the state of the agent's automatic syncs.
package struct FollowingRequest: EmptyRequest, OnlyReads {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 40

    package init() {}
}

/// Requests a check of every remote, which takes some seconds if one does not answer.
package struct CheckRemotesRequest: EmptyRequest, OnlyReads {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 54

    package init() {}
}

/// Requests whether an item has a conflict: 1 or 0.
package struct HasConflictRequest: ValueRequest, CountRequest, OnlyReads {
    package static let kind: UInt8 = 36
    package let value: StoredItem.Key
}

extension AgentClient {
    /// Requests the state of the fleet, or a change of it.
    ///
    /// - Returns: the type of the module that knows fleets.
    /// - Throws: `.agent(.protocolViolation)`, also if the agent is older than the message.
    package func value<Request: AgentRequest, Value: MessageValue>(
        of request: Request
    ) throws(VaultError) -> Value where Request.Reply == SyncReply {
        try SyncReply.value(of: try exchange([request], until: \.isLast))
    }

    package func hasConflict(_ record: ItemRecord) throws(VaultError) -> Bool {
        try count(HasConflictRequest(StoredItem.Key(record))) > 0
    }
}

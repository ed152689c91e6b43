// SPDX-License-Identifier: Apache-2.0
package import Vault

/// Requests the vault's knowledge of its fleet, without a look at a remote.
package struct FleetRequest: EmptyRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 35
    package static let onlyReads = true

    package init() {}
}

/// Requests the state of the agent's automatic syncs.
package struct FollowingRequest: EmptyRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 40
    package static let onlyReads = true

    package init() {}
}

/// Requests a check of every remote, which takes some seconds if one does not answer.
package struct CheckRemotesRequest: EmptyRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 54
    package static let onlyReads = true

    package init() {}
}

/// Requests whether an item has a conflict: 1 or 0.
package struct HasConflictRequest: ValueRequest {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 36
    package static let onlyReads = true
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

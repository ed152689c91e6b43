// SPDX-License-Identifier: Apache-2.0
package import Vault

/// Requests the vault's knowledge of its fleet, without a look at a remote.
package struct FleetRequest: AgentRequest, EmptyMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 35
    package static let onlyReads = true

    package init() {}
}

/// Requests the state of the agent's automatic syncs.
package struct FollowingRequest: AgentRequest, EmptyMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 40
    package static let onlyReads = true

    package init() {}
}

/// Requests a check of every remote, which takes some seconds if one does not answer.
package struct CheckRemotesRequest: AgentRequest, EmptyMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 54
    package static let onlyReads = true

    package init() {}
}

/// Requests whether an item has a conflict: 1 or 0.
package struct HasConflictRequest: AgentRequest, ValueMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 36
    package static let onlyReads = true
    package let value: StoredItem.Key

    package init(_ value: StoredItem.Key) { self.value = value }
}

extension AgentClient {
    /// - Returns: the type of the module that knows fleets.
    /// - Throws: `.agent(.protocolViolation)`, also if the agent is older than the message.
    package func fleet<Look: MessageValue>() throws(VaultError) -> Look {
        try SyncReply.value(of: try exchange([FleetRequest()], until: \.isLast))
    }

    /// - Returns: the type of the module that syncs automatically; `nil` if the agent does not.
    /// - Throws: `.agent(.protocolViolation)`, also if the agent is older than the message.
    package func following<Remote: MessageValue>() throws(VaultError) -> [Remote]? {
        try SyncReply.value(of: try exchange([FollowingRequest()], until: \.isLast))
    }

    /// - Returns: the type of the module that checks remotes.
    /// - Throws: `.agent(.protocolViolation)`, also if the agent is older than the message.
    package func checkRemotes<Check: MessageValue>() throws(VaultError) -> [Check] {
        try SyncReply.value(of: try exchange([CheckRemotesRequest()], until: \.isLast))
    }

    package func hasConflict(_ record: ItemRecord) throws(VaultError) -> Bool {
        try count(HasConflictRequest(StoredItem.Key(record))) > 0
    }
}

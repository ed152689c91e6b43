// SPDX-License-Identifier: Apache-2.0
package import Vault

/// What the vault knows of its fleet without a look at a remote.
package struct FleetRequest: AgentRequest, EmptyMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 35
    package static let onlyReads = true

    package init() {}
}

/// How the agent stands with the remotes, where it syncs unasked.
package struct FollowingRequest: AgentRequest, EmptyMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 40
    package static let onlyReads = true

    package init() {}
}

/// A look at every remote, which takes some seconds where one does not answer.
package struct CheckRemotesRequest: AgentRequest, EmptyMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 54
    package static let onlyReads = true

    package init() {}
}

/// Whether an item has a conflict: 1, or 0.
package struct HasConflictRequest: AgentRequest, ValueMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 36
    package static let onlyReads = true
    package let value: StoredItem.Key

    package init(_ value: StoredItem.Key) { self.value = value }
}

extension AgentClient {
    /// - Returns: as the module says it that knows fleets.
    /// - Throws: `.agent(.protocolViolation)` also when the agent is older than the message.
    package func fleet<Look: MessageValue>() throws(VaultError) -> Look {
        try SyncReply.value(of: try exchange([FleetRequest()], until: \.isLast))
    }

    /// - Returns: as the module says it that syncs unasked; nil: the agent does not.
    /// - Throws: `.agent(.protocolViolation)` also when the agent is older than the message.
    package func following<Remote: MessageValue>() throws(VaultError) -> [Remote]? {
        try SyncReply.value(of: try exchange([FollowingRequest()], until: \.isLast))
    }

    /// - Returns: as the module says it that looks.
    /// - Throws: `.agent(.protocolViolation)` also when the agent is older than the message.
    package func checkRemotes<Check: MessageValue>() throws(VaultError) -> [Check] {
        try SyncReply.value(of: try exchange([CheckRemotesRequest()], until: \.isLast))
    }

    package func hasConflict(_ record: ItemRecord) throws(VaultError) -> Bool {
        try count(HasConflictRequest(StoredItem.Key(record))) > 0
    }
}

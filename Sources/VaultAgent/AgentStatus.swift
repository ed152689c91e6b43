// SPDX-License-Identifier: Apache-2.0

/// An agent's description of itself. The status names no item.
///
/// Size: each property is a field of the agent's answer.
public struct AgentStatus: Equatable, Sendable {
    /// The state of the agent's vault.
    public enum State: UInt8, Sendable {
        /// Not unlocked yet: nothing can be read.
        case new = 1
        /// Locked again: items that are readable after the first unlock still are.
        case locked
        /// Unlocked: every item is readable.
        case unlocked
    }

    /// The rights of a client.
    public enum Access: UInt8, Sendable {
        /// All verbs on all items of the client's access groups.
        case full = 1
        /// Attributes, and secrets only for `run` and `inject`.
        case injectOnly
        /// No right: every request but the status is refused.
        case none
    }

    /// The state of the vault.
    public var state: State
    /// The process identifier of the agent.
    public var processID: UInt32
    /// The version of the agent's program.
    public var version: String
    /// The resolved path of the vault file.
    public var vault: String
    /// The idle time in seconds after which the agent locks; 0: never.
    public var idleLimit: UInt32
    /// The time in seconds after an unlock at which the agent locks in any case; 0: never.
    public var maximum: UInt32
    /// The seconds until the lock, while the vault is unlocked.
    public var locksIn: UInt32?
    /// The rights of this client.
    public var access: Access
    /// The access groups that this client may name, if a rule or its sandbox confines it; `nil` for all.
    public var groups: [String]?
    /// Whether the policy has rules, which may give other clients other rights than this one.
    public var hasRules: Bool
    /// Whether the agent keeps an audit log.
    public var isAuditing: Bool
    /// The number of connected clients, this one included.
    public var clients: UInt32
    /// Whether a door has offered to ask people for the passphrase.
    public var asksPeople: Bool

    /// - Parameters:
    ///   - idleLimit: in seconds; 0: never.
    ///   - maximum: in seconds; 0: never.
    ///   - locksIn: in seconds; `nil` while the vault is locked or no limit is set.
    public init(
        state: State, processID: UInt32, version: String, vault: String, idleLimit: UInt32, maximum: UInt32,
        locksIn: UInt32?,
        access: Access, groups: [String]? = nil, hasRules: Bool = false, isAuditing: Bool, clients: UInt32,
        asksPeople: Bool = false
    ) {
        (self.state, self.processID, self.version, self.vault) = (state, processID, version, vault)
        (self.idleLimit, self.maximum, self.locksIn, self.access) = (idleLimit, maximum, locksIn, access)
        (self.groups, self.hasRules, self.isAuditing, self.clients) = (groups, hasRules, isAuditing, clients)
        self.asksPeople = asksPeople
    }
}

extension AgentStatus {
    /// Whether a client's rights, or its audit entries, depend on its process.
    package var asksWhoClientsAre: Bool { isAuditing || hasRules }

    /// Whether both statuses give the client the same rights, and other clients are checked in the same way.
    func hasRights(of other: AgentStatus) -> Bool {
        access == other.access && groups == other.groups && hasRules == other.hasRules
            && isAuditing == other.isAuditing
    }
}

extension AgentStatus.State: MessageValue {}
extension AgentStatus.Access: MessageValue {}

extension AgentStatus: MessageValue, Formed {
    package static let form = MessageForm(Self.init) {
        (
            $0.state, $0.processID, $0.version, $0.vault, $0.idleLimit, $0.maximum, $0.locksIn, $0.access, $0.groups,
            $0.hasRules, $0.isAuditing, $0.clients, $0.asksPeople
        )
    }
}

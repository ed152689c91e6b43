// SPDX-License-Identifier: Apache-2.0

/// What an agent says of itself. It names no item.
public struct AgentStatus: Equatable, Sendable {
    public enum State: UInt8, Sendable {
        /// Never unlocked: nothing can be read.
        case new = 1
        /// Locked again: what is readable after the first unlock still is.
        case locked
        case unlocked
    }

    /// What the agent lets a client do.
    public enum Access: UInt8, Sendable {
        case full = 1
        /// Secrets for `run` and `inject` alone, and attributes.
        case injectOnly
        case none
    }

    public var state: State
    public var processID: UInt32
    public var version: String
    /// The vault file, as the agent found it.
    public var vault: String
    /// Seconds without use after which it locks, and seconds after an unlock at which it does in any case; 0: never.
    public var idleLimit: UInt32
    public var maximum: UInt32
    /// Seconds that are left, while unlocked.
    public var locksIn: UInt32?
    public var access: Access
    /// The access groups that this client may name, since a rule or its sandbox confines it to them; nil: all.
    public var groups: [String]?
    /// Whether the policy has a rule, which may let other clients do more or less than this one.
    public var hasRules: Bool
    public var isAuditing: Bool
    public var clients: UInt32
    /// Whether a door has offered to ask people for the passphrase.
    public var asksPeople: Bool

    public init(
        state: State, processID: UInt32, version: String, vault: String, idleLimit: UInt32, maximum: UInt32,
        locksIn: UInt32?,
        access: Access, groups: [String]? = nil, hasRules: Bool = false, isAuditing: Bool, clients: UInt32,
        asksPeople: Bool = false
    ) {
        self.state = state
        self.processID = processID
        self.version = version
        self.vault = vault
        self.idleLimit = idleLimit
        self.maximum = maximum
        self.locksIn = locksIn
        self.access = access
        self.groups = groups
        self.hasRules = hasRules
        self.isAuditing = isAuditing
        self.clients = clients
        self.asksPeople = asksPeople
    }
}

extension AgentStatus {
    /// Whether what a client may do, or what is written down of it, depends on its process.
    package var asksWhoClientsAre: Bool { isAuditing || hasRules }

    /// Whether a client may do the same by both, and other clients are asked for the same.
    func hasRights(of other: AgentStatus) -> Bool {
        access == other.access && groups == other.groups && hasRules == other.hasRules
            && isAuditing == other.isAuditing
    }
}

extension AgentStatus.State: MessageValue {}
extension AgentStatus.Access: MessageValue {}

extension AgentStatus: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(state)
        writer.put(processID)
        writer.put(version)
        writer.put(vault)
        writer.put(idleLimit)
        writer.put(maximum)
        writer.put(locksIn)
        writer.put(access)
        writer.put(groups)
        writer.put(hasRules)
        writer.put(isAuditing)
        writer.put(clients)
        writer.put(asksPeople)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> AgentStatus {
        AgentStatus(
            state: try reader.read(), processID: try reader.read(), version: try reader.read(),
            vault: try reader.read(), idleLimit: try reader.read(), maximum: try reader.read(),
            locksIn: try reader.read(), access: try reader.read(), groups: try reader.read(),
            hasRules: try reader.read(), isAuditing: try reader.read(), clients: try reader.read(),
            asksPeople: try reader.read())
    }
}

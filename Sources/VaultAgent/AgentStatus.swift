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
    public var isAuditing: Bool
    public var clients: UInt32

    public init(
        state: State, processID: UInt32, version: String, vault: String, idleLimit: UInt32, maximum: UInt32,
        locksIn: UInt32?,
        access: Access, isAuditing: Bool, clients: UInt32
    ) {
        self.state = state
        self.processID = processID
        self.version = version
        self.vault = vault
        self.idleLimit = idleLimit
        self.maximum = maximum
        self.locksIn = locksIn
        self.access = access
        self.isAuditing = isAuditing
        self.clients = clients
    }
}

extension MessageWriter {
    mutating func put(_ status: AgentStatus) {
        put(status.state.rawValue)
        put(status.processID)
        put(status.version)
        put(status.vault)
        put(status.idleLimit)
        put(status.maximum)
        put(status.locksIn) { $0.put($1) }
        put(status.access.rawValue)
        put(status.isAuditing)
        put(status.clients)
    }
}

extension MessageReader {
    mutating func status() throws(MessageError) -> AgentStatus {
        guard let state = AgentStatus.State(rawValue: try integer()) else { throw .invalid }
        let (processID, version, vault): (UInt32, String, String) = (try integer(), try text(), try text())
        let (idleLimit, maximum): (UInt32, UInt32) = (try integer(), try integer())
        let locksIn: UInt32? = try optional { reader throws(MessageError) in try reader.integer() }
        guard let access = AgentStatus.Access(rawValue: try integer()) else { throw .invalid }
        return AgentStatus(
            state: state, processID: processID, version: version, vault: vault, idleLimit: idleLimit, maximum: maximum,
            locksIn: locksIn,
            access: access, isAuditing: try flag(), clients: try integer())
    }
}

// SPDX-License-Identifier: Apache-2.0
public import Vault
internal import VaultCrypto
package import VaultFormat
public import VaultStorage

/// What the agent says of itself. The only request that does not count as use.
package struct StatusRequest: AgentRequest, EmptyMessage {
    package typealias Reply = StatusReply
    package static let kind: UInt8 = 2
    package static let onlyReads = true

    package init() {}
}

/// Waits until nobody else is being asked for the passphrase. The reply says whether there is still something to
/// unlock.
package struct TurnRequest: AgentRequest, EmptyMessage {
    package typealias Reply = StatusReply
    package static let kind: UInt8 = 3
    package static let onlyReads = true

    package init() {}
}

package struct UnlockRequest: AgentRequest {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 4
    package let secret: UnlockingSecret

    package init(_ secret: UnlockingSecret) { self.secret = secret }

    package func write(to writer: inout MessageWriter) {
        writer.put(secret.kind)
        for part in secret.parts { writer.put(part) }
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        let kind: KeySlot.Kind = try reader.read()
        var parts: [Secret] = []
        for _ in kind.parts { parts.append(try reader.read()) }
        do throws(CryptoError) { secret = try UnlockingSecret(kind, parts: parts) } catch { throw .invalid }
    }
}

package struct LockRequest: AgentRequest, EmptyMessage {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 5

    package init() {}
}

/// Ends the agent.
package struct StopRequest: AgentRequest, EmptyMessage {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 16

    package init() {}
}

package struct IdleLimitRequest: AgentRequest, ValueMessage {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 23
    /// After how many seconds without use the agent locks from now on; 0: never.
    package let value: UInt32

    package init(_ value: UInt32) { self.value = value }
}

extension KeySlot.Kind: MessageValue {}

extension AgentClient {
    /// What the agent says of itself. Asking is no use of it.
    public func status() throws(VaultError) -> AgentStatus { try ask(StatusRequest(), isPatient: false).value }

    public var isLocked: Bool { get throws(VaultError) { try status().state != .unlocked } }

    /// Waits until nobody else is being asked for the passphrase.
    ///
    /// - Returns: what there is to do by then. Until this client goes, or has unlocked the vault, all others wait in
    ///   their turn.
    public func awaitTurn() throws(VaultError) -> AgentStatus { try ask(TurnRequest()).value }

    /// - Throws: `.storage(.wrongPassphrase)`, and what opening a vault throws. Each failure makes the next attempt
    ///   wait longer.
    public func unlock(with secret: UnlockingSecret) throws(VaultError) { _ = try ask(UnlockRequest(secret)) }

    /// Returns when the keys are wiped.
    public func lock() throws(VaultError) { _ = try ask(LockRequest()) }

    /// After how many seconds without use the agent locks from now on; 0: never.
    public func setIdleLimit(_ seconds: UInt32) throws(VaultError) { _ = try ask(IdleLimitRequest(seconds)) }

    /// Ends the agent: it wipes its keys and brings the vault in order first.
    public func stop() throws(VaultError) { _ = try ask(StopRequest()) }
}

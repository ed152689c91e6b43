// SPDX-License-Identifier: Apache-2.0
public import Vault
internal import VaultCrypto
package import VaultFormat
public import VaultStorage

/// Requests the agent's status. Only this request does not count as use.
package struct StatusRequest: EmptyRequest, OnlyReads {
    package typealias Reply = StatusReply
    package static let kind: UInt8 = 2
}

/// Waits until no other client is asking a person for the passphrase. The reply tells whether the vault still has to be
/// unlocked.
package struct TurnRequest: EmptyRequest, OnlyReads {
    package typealias Reply = StatusReply
    package static let kind: UInt8 = 3
}

package struct UnlockRequest: DoneRequest {
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

package struct LockRequest: EmptyRequest, DoneRequest {
    package static let kind: UInt8 = 5
}

/// Ends the agent.
package struct StopRequest: EmptyRequest, DoneRequest {
    package static let kind: UInt8 = 16
}

package struct IdleLimitRequest: ValueRequest, DoneRequest {
    package static let kind: UInt8 = 23
    /// The idle time in seconds after which the agent locks; 0: never.
    package let value: UInt32
}

extension KeySlot.Kind: MessageValue {}

extension AgentClient {
    /// The agent's status. The request does not count as use.
    public func status() throws(VaultError) -> AgentStatus { try ask(StatusRequest(), isPatient: false).value }

    /// Whether the vault is locked, or was not unlocked yet.
    public var isLocked: Bool { get throws(VaultError) { try status().state != .unlocked } }

    /// Waits until no other client is asking a person for the passphrase.
    ///
    /// - Returns: the status after the wait. Until this client has gone, or has unlocked the vault, all others wait
    ///   for their turn.
    public func awaitTurn() throws(VaultError) -> AgentStatus { try ask(TurnRequest()).value }

    /// - Throws: `.storage(.wrongPassphrase)`, and the errors of opening a vault. Each failure delays the next
    ///   attempt further.
    public func unlock(with secret: UnlockingSecret) throws(VaultError) { _ = try ask(UnlockRequest(secret)) }

    /// Locks the vault. The keys are wiped on return.
    public func lock() throws(VaultError) { _ = try ask(LockRequest()) }

    /// Sets the idle time in seconds after which the agent locks; 0: never.
    public func setIdleLimit(_ seconds: UInt32) throws(VaultError) { _ = try ask(IdleLimitRequest(seconds)) }

    /// Ends the agent, which first wipes its keys and closes the vault in order.
    public func stop() throws(VaultError) { _ = try ask(StopRequest()) }
}

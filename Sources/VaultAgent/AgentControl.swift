// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault

/// An agent of any version: its status, its lock and its end.
///
/// After an upgrade the agent of the release before still runs, with the vault open. The frames of a greeting, of these
/// requests and of their replies, and of an unlock, are the same in every version from 3 on, so that any program can
/// lock and end any agent. A later version may append to them.
package final class AgentControl {
    /// The version of the agent's protocol.
    package let version: UInt8
    /// The agent's status at the time of the greeting.
    package let status: AgentStatus
    private var connection: AgentConnection

    /// - Parameter vault: the vault file; `nil` accepts the agent's vault.
    /// - Returns: `nil` if no agent runs.
    /// - Throws: `.agent` with `.refused` if another user listens there, `.busy`, `.otherVault`, or
    ///   `.protocolViolation` if the listener is no agent.
    package static func open(
        at address: FilePath? = AgentAddress.ofProcess, vault: FilePath? = nil
    ) throws(VaultError) -> AgentControl? {
        guard let address else { return nil }
        let hello = HelloRequest(Greeting(vault: vault?.string ?? "", groups: nil, purpose: .reveal))
        guard var first = try AgentConnection.open(address) else { return nil }
        do throws(VaultError) {
            let status = try AgentClient.greet(hello, on: &first)
            return AgentControl(first, status, Frame.version)
        } catch {
            // The refusal has the agent's version in its head; the agent has closed the connection.
            guard let version = first.otherVersion else { throw error }
            guard var second = try AgentConnection.open(address, version: version) else { return nil }
            return AgentControl(second, try AgentClient.greet(hello, on: &second), version)
        }
    }

    private init(_ connection: consuming AgentConnection, _ status: AgentStatus, _ version: UInt8) {
        self.connection = connection
        (self.status, self.version) = (status, version)
    }

    /// Whether the agent has another version of the protocol than this program: it answers nothing but control frames.
    package var isOfAnotherVersion: Bool { version != Frame.version }

    /// Locks the vault. The keys are wiped on return.
    package func lock() throws(VaultError) { _ = try connection.ask(LockRequest()) }

    /// Ends the agent, which first wipes its keys and closes the vault in order.
    package func stop() throws(VaultError) { _ = try connection.ask(StopRequest()) }
}

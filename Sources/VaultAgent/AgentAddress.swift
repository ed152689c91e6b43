// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
internal import Vault

/// The socket address of a user's agent.
public enum AgentAddress {
    /// `$VAULT_AGENT_SOCK`, else `$XDG_RUNTIME_DIR/vault/agent.sock`. `nil` if neither is set: then there is no agent.
    public static var ofProcess: FilePath? {
        if let path = ProcessEnvironment.variable("VAULT_AGENT_SOCK") { return FilePath(path) }
        // The specification of the variable requires an absolute path.
        guard let directory = ProcessEnvironment.variable("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else {
            return nil
        }
        return FilePath(directory).appending("vault").appending("agent.sock")
    }
}

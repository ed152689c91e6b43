// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
internal import Vault

/// Where the agent of a user listens.
public enum AgentAddress {
    /// `$VAULT_AGENT_SOCK`, else `$XDG_RUNTIME_DIR/vault/agent.sock`. Nil: neither is set, and there is no agent.
    public static var ofProcess: FilePath? {
        if let path = ProcessEnvironment.variable("VAULT_AGENT_SOCK") { return FilePath(path) }
        // The specification of the variable wants an absolute path.
        guard let directory = ProcessEnvironment.variable("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else {
            return nil
        }
        return FilePath(directory).appending("vault").appending("agent.sock")
    }
}

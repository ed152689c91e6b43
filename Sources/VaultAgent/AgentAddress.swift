// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
internal import Vault

/// The socket address of a user's agent.
public enum AgentAddress {
    /// `$VAULT_AGENT_SOCK`, else `vault/agent.sock` in `$XDG_RUNTIME_DIR`, or without that variable in the user's own
    /// `/run/user/UID`. `nil` without any of them: then there is no agent.
    public static var ofProcess: FilePath? {
        if let path = ProcessEnvironment.variable("VAULT_AGENT_SOCK") { return FilePath(path) }
        return RuntimeDirectory.ofProcess?.appending("vault").appending("agent.sock")
    }
}

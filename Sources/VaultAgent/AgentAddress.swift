// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import SystemPackage

/// Where the agent of a user listens.
public enum AgentAddress {
    /// `$VAULT_AGENT_SOCK`, else `$XDG_RUNTIME_DIR/vault/agent.sock`. Nil: neither is set, and there is no agent.
    public static var ofProcess: FilePath? {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["VAULT_AGENT_SOCK"], !path.isEmpty { return FilePath(path) }
        // The specification of the variable wants an absolute path.
        guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else { return nil }
        return FilePath(directory).appending("vault").appending("agent.sock")
    }
}

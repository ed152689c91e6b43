// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultCrypto

/// Starts an agent in the background, and hears from it whether it listens.
enum AgentLauncher {
    private static let ready = "ready"

    /// Starts this program with the arguments, in a session of its own, and returns when it listens.
    static func start(_ arguments: [String]) throws {
        try check(try Helper([Helper.ownExecutable] + arguments).announcement(limit: 4096), "the agent")
    }

    /// - Throws: what the process has said of why it does not listen.
    static func check(_ answer: borrowing SecretBytes, _ name: String) throws {
        let lines = answer.withBytes { String(decoding: $0.array, as: UTF8.self) }.split(
            separator: "\n", omittingEmptySubsequences: false)
        if lines.first == ready[...] { return }
        guard lines.count >= 3, let status = Int32(lines[0]).flatMap({ ExitStatus(rawValue: $0) }) else {
            throw CommandError(.failure, "\(name) did not start", hint: "see why: 'vault agent --foreground'")
        }
        throw CommandError(status, String(lines[1]), hint: lines[2].isEmpty ? nil : String(lines[2]))
    }

    /// The agent of the vault, started if it is not there.
    ///
    /// - Parameter idle: after how long without use one that is started now locks, as `--idle` takes it.
    static func agent(of vault: LockedVault, idle: String? = nil) throws -> AgentClient {
        if let client = try VaultAccess.agent(of: vault.path) { return client }
        if try VaultAccess.agent(of: nil) == nil {
            // By the path as it was given: what this device remembers of the vault it remembers by that one as well.
            var arguments = ["agent", "--foreground", "--announce", "--locked", "--vault", vault.givenPath.string]
            if let idle { arguments += ["--idle", idle] }
            do { try start(arguments) } catch let error as CommandError {
                // Another process has just started one, which may not listen yet.
                guard error.status == .alreadyExists else { throw error }
                for _ in 0..<100 where try VaultAccess.agent(of: nil) == nil { usleep(20_000) }
            }
            if let client = try VaultAccess.agent(of: vault.path) { return client }
        }
        throw CommandError(
            .failure, "the agent that runs has another vault",
            hint: "see 'vault doctor'; --vault or $VAULT_FILE names a vault")
    }

    /// Ends an agent, and returns when it has.
    static func stop(_ client: AgentClient) throws {
        let process = clinux_process(Int32(bitPattern: client.greeting.processID))
        defer { if process >= 0 { close(Int32(process)) } }
        try client.stop()
        guard process < 0 || clinux_has_ended(Int32(process), 30_000) == 1 else {
            throw CommandError(.busy, "the agent has not ended yet")
        }
    }

    /// Tells the process that started this one that it listens, or why not, and lets go of the terminal.
    static func announce(_ failure: CommandError?) {
        let text = failure.map { "\($0.status.rawValue)\n\($0.message)\n\($0.hint ?? "")\n" } ?? ready + "\n"
        let bytes = Array(text.utf8)
        // The process that waited may have gone; the agent stays.
        _ = unsafe bytes.withUnsafeBytes { unsafe clinux_write_pipe(STDOUT_FILENO, $0.baseAddress, $0.count) }
        clinux_forget_descriptor(STDOUT_FILENO)
        if failure == nil { unsafe chdir("/") }
    }
}

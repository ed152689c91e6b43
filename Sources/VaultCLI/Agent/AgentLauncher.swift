// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultSystem

/// Starts an agent in the background, and waits for its announcement.
enum AgentLauncher {
    private static let ready = "ready"

    /// Starts this program with the arguments, in a session of its own, and returns when it listens.
    static func start(_ arguments: [String]) throws {
        try check(try Helper([Helper.ownExecutable] + arguments).announcement(limit: 4096), "the agent")
    }

    /// - Throws: the reason that the process announced if it does not listen.
    static func check(_ answer: borrowing SecretBytes, _ name: String) throws {
        let lines = answer.withBytes { String(decoding: $0.array, as: UTF8.self) }.split(
            separator: "\n", omittingEmptySubsequences: false)
        if lines.first == ready[...] { return }
        guard lines.count >= 3, let status = Int32(lines[0]).flatMap({ ExitStatus(rawValue: $0) }) else {
            throw CommandError(.failure, "\(name) did not start", hint: "see why: 'vault agent --foreground'")
        }
        throw CommandError(status, String(lines[1]), hint: lines[2].isEmpty ? nil : String(lines[2]))
    }

    /// Returns the agent of the vault, started if none runs.
    ///
    /// - Parameter idle: the time without use after which a newly started agent locks, in the format of `--idle`.
    static func agent(of vault: LockedVault, idle: String? = nil) throws -> AgentClient {
        if let client = try VaultAccess.agent(of: vault.path) { return client }
        if try VaultAccess.agent(of: nil) == nil {
            // The path as given: the device's memory of the vault is also kept under it.
            var arguments = ["agent", "--foreground", "--announce", "--locked", "--vault", vault.givenPath.string]
            if let idle { arguments += ["--idle", idle] }
            do { try start(arguments) } catch let error as CommandError {
                // Another process has just started an agent, which may not listen yet.
                guard error.status == .alreadyExists else { throw error }
                for _ in 0..<100 where try VaultAccess.agent(of: nil) == nil { usleep(20_000) }
            }
            if let client = try VaultAccess.agent(of: vault.path) { return client }
        }
        throw CommandError(
            .failure, VaultError.agent(.otherVault).text,
            hint: "see 'vault doctor'; --vault or $VAULT_FILE names a vault")
    }

    /// Ends an agent, and returns when it has exited.
    static func stop(_ agent: AgentControl) throws {
        let process = try? Descriptor(clinux_process(Int32(bitPattern: agent.status.processID)))
        try agent.stop()
        guard let process else { return }
        guard clinux_has_ended(process.number, 30_000) == 1 else {
            throw CommandError(.busy, "the agent has not ended yet")
        }
    }

    /// Announces to the starting process that this one listens, or why not, and detaches from the terminal.
    static func announce(_ failure: CommandError?) {
        let text = failure.map { "\($0.status.rawValue)\n\($0.message)\n\($0.hint ?? "")\n" } ?? ready + "\n"
        let bytes = Array(text.utf8)
        // The waiting process may have exited; the agent stays.
        _ = unsafe bytes.withUnsafeBytes { unsafe clinux_write_pipe(STDOUT_FILENO, $0.baseAddress, $0.count) }
        clinux_forget_descriptor(STDOUT_FILENO)
        if failure == nil { unsafe chdir("/") }
    }
}

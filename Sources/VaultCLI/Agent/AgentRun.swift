// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultCrypto
internal import VaultStorage
internal import VaultSystem

/// `vault agent`.
///
/// Size: each property is an option.
struct Agent: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Keep a vault open for other commands.",
        discussion: """
            The agent listens on $VAULT_AGENT_SOCK, else on $XDG_RUNTIME_DIR/vault/agent.sock, for processes of the \
            same user. The keys never leave the agent. The agent starts unlocked if a passphrase is given, and locked \
            otherwise; 'vault unlock' starts an agent if none is running.

            The agent locks after a time without use (--idle), after a time in any case (--max), on SIGHUP, before the \
            machine sleeps and when the session is locked. Items that are readable after the first unlock stay \
            readable until the agent ends.

            The agent syncs a vault that belongs to a fleet in the background: see 'vault help sync'.
            """)

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Run in the foreground.")
    var foreground = false

    @Option(help: ArgumentHelp("Lock if unused for this time, such as 45s, 10m or 8h; 0 for never.", valueName: "time"))
    var idle = "10m"

    @Option(help: ArgumentHelp("Lock this long after an unlock, used or not; 0 for never.", valueName: "time"))
    var max = "8h"

    @Option(file: "The rules for programs. The default is ~/.config/vault/policy.json, if it exists.")
    var policy: String?

    @Flag(help: "Log each access, in a log that reveals changes: see 'vault audit'.")
    var audit = false

    @Flag(help: "Sync the vault with its fleet only on 'vault sync'.")
    var noSync = false

    @Flag(help: "Accept root as a client.")
    var allowRoot = false

    @Flag(help: "Keep keys in ordinary locked memory: a machine does not hibernate while secret memory is in use.")
    var allowHibernation = false

    @Flag(
        help: """
            Also serve org.freedesktop.secrets, by 'vault doors --secret-service' in a process that ends with the \
            agent.
            """)
    var secretService = false

    @Flag(help: "End the running agent.")
    var stop = false

    @Flag(help: .hidden)
    var announce = false

    @Flag(help: .hidden)
    var locked = false

    func validate() throws {
        guard Copy.seconds(idle) != nil, Copy.seconds(max) != nil else {
            throw ValidationError("--idle and --max take a time of at most a day, such as 45s, 10m or 8h")
        }
    }

    func run() throws {
        if stop {
            guard let agent = try VaultAccess.control() else { return Output.note("no agent is running") }
            return try AgentLauncher.stop(agent)
        }
        guard foreground else { return try AgentLauncher.start(["agent", "--foreground", "--announce"] + forwarded()) }
        do { try serve() } catch {
            if announce, let failure = CommandLineTool.failure(error) { AgentLauncher.announce(failure) }
            throw error
        }
    }

    /// Returns the options for the agent in the background. Sources of the passphrase are not among them: nothing but
    /// the environment is inherited.
    private func forwarded() throws -> [String] {
        guard vault.passphrase.passphraseFd == nil else {
            throw CommandError.usage(
                "--passphrase-fd goes with --foreground", hint: "or use 'vault unlock --passphrase-fd'")
        }
        guard !vault.unlocking.securityKey.isNamed else {
            throw CommandError.usage("--fido2 goes with --foreground", hint: "or use 'vault unlock --fido2'")
        }
        let path = FilePath(FileManager.default.currentDirectoryPath).pushingUnresolved(try vault.file.path())
        var arguments = ["--vault", path.string, "--idle", idle, "--max", max]
        if let file = vault.passphrase.passphraseFile { arguments += ["--passphrase-file", file] }
        if let file = vault.unlocking.keyFile { arguments += ["--key-file", file] }
        if let file = vault.unlocking.recoveryCodeFile { arguments += ["--recovery-code-file", file] }
        if let policy { arguments += ["--policy", policy] }
        if audit { arguments.append("--audit") }
        if noSync { arguments.append("--no-sync") }
        if allowRoot { arguments.append("--allow-root") }
        if secretService { arguments.append("--secret-service") }
        if allowHibernation { arguments.append("--allow-hibernation") }
        return arguments
    }

    private func serve() throws {
        if !allowHibernation { SecretBytes.keepsKeysApart = true }
        ProcessName.set("vault-agent")
        let server: AgentServer
        let settings = try settings { kill(getpid(), SIGTERM) }
        do throws(PolicyError) { server = try AgentServer(settings) } catch { throw CommandError(error) }
        // Started before this process contains any secret; the child gets only its environment.
        let doors = secretService ? try AgentDoors(on: settings.givenVault ?? settings.vault) : nil
        defer { withExtendedLifetime(doors) {} }
        if let descriptor = AgentSocket.activated { return try serve(server, on: descriptor, doors) }
        let socket = try AgentSocket.make()
        try serve(server, on: socket.descriptor, at: socket.location, doors)
        // A socket made by systemd is left to systemd.
        _ = consume socket
    }

    private func serve(
        _ server: AgentServer, on descriptor: Int32, at location: AgentSocket.Location? = nil, _ doors: AgentDoors?
    ) throws {
        if !locked, vault.unlocking.hasSource { try unlock(server) }
        let end = DispatchSemaphore(value: 0)
        let reload = { @Sendable in
            server.lock()
            server.reload()
        }
        let signals = EndSignals(hungUp: reload) { end.signal() }
        do { try server.start(on: descriptor, at: location) } catch {
            throw CommandError(.inputOutput, "cannot listen at the agent's socket")
        }
        defer { server.stop() }
        try doors?.open()
        if announce { AgentLauncher.announce(nil) }
        end.wait()
        withExtendedLifetime(signals) {}
    }

    private func settings(stop: @escaping @Sendable () -> Void) throws -> AgentSettings {
        let path = try vault.file.path()
        var settings = AgentSettings(vault: Agent.canonical(path), version: VaultCommand.configuration.version)
        settings.givenVault = FilePath(FileManager.default.currentDirectoryPath).pushingUnresolved(path)
        settings.stop = stop
        settings.syncs = !noSync
        settings.idleLimit = .seconds(Copy.seconds(idle) ?? 0)
        settings.maximum = .seconds(Copy.seconds(max) ?? 0)
        settings.allowsRoot = allowRoot
        settings.policy =
            policy.map { FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath($0)) }
            ?? Vault.configurationDirectory?.appending("policy.json")
        if let policy, !FileManager.default.fileExists(atPath: policy) {
            throw CommandError(.inputOutput, "there is no such policy file")
        }
        if audit {
            guard let directory = VaultEnvironment.system.stateDirectory else {
                throw CommandError(
                    .inputOutput, "there is no directory for the log", hint: "set HOME or XDG_STATE_HOME")
            }
            settings.auditDirectory = directory
        }
        settings.report = { Output.note($0) }
        return settings
    }

    private func unlock(_ server: AgentServer) throws {
        let locked: LockedVault
        do { locked = try LockedVault(at: vault.file.path()) } catch VaultError.storage(.noVault) {
            return Output.warn("there is no vault here yet: make one with 'vault init', and then 'vault unlock'")
        }
        try vault.naming(locked) {
            try vault.unlocking.opening(UnlockTarget(locked), asksMachine: true) { try server.unlock(with: $0) }
        }
    }

    /// Returns the path in the form used by clients. The vault, and its directory, may be created later.
    private static func canonical(_ path: FilePath) -> FilePath {
        if let resolved = try? LinuxFileSystem().resolve(path) { return resolved }
        return FilePath(FileManager.default.currentDirectoryPath).pushing(path).lexicallyNormalized()
    }
}

extension AgentSocket {
    fileprivate static func make() throws -> AgentSocket {
        guard let path = AgentAddress.ofProcess else { throw CommandError(AgentSocketError.noAddress) }
        do throws(AgentSocketError) { return try make(path) } catch { throw CommandError(error) }
    }
}

extension CommandError {
    init(_ error: AgentSocketError) {
        switch error {
        case .noAddress:
            self.init(
                .inputOutput, "there is no place for the agent's socket",
                hint: "set XDG_RUNTIME_DIR or VAULT_AGENT_SOCK")
        case .running: self.init(.alreadyExists, "an agent is running already", hint: "see 'vault status'")
        case .directory:
            self.init(.inputOutput, "the directory of the agent's socket is not the user's own", hint: "chmod 700 it")
        case .inTheWay:
            self.init(.inputOutput, "the path of the agent's socket is taken, and not by a socket of this user")
        case .system(let errno): self = .cannot("make the agent's socket", errno)
        }
    }

    init(_ error: PolicyError) {
        let status: ExitStatus =
            switch error {
            case .unreadable, .writableByOthers: .inputOutput
            case .notUnderstood, .script: .usage
            }
        self.init(status, error.text.printable, hint: error.hint?.printable)
    }
}

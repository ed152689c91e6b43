// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultCrypto
internal import VaultStorage

struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the vault for possible problems.",
        discussion: """
            Needs no passphrase. With a passphrase, any other way to unlock, or an unlocked agent, the command also \
            checks the vault's fleet, and each of its remotes, for 5 seconds at most: whether the remote answers, and \
            what this device may do there. Ends with 0 if there is nothing worse than a warning.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var output: JSONOption

    func run() throws {
        var findings: [Finding] = []
        var failure: CommandError?
        let path = try vault.file.path()
        var isReplicated = false
        do throws(StorageError) {
            let store = try LockedStore(path, environment: .system)
            isReplicated = store.header.isReplicated
            findings.append(.good("the file and its directory are the user's own, and the header is whole"))
            if let weak = store.weakFileSystem {
                findings.append(
                    .warning("the file system is \(weak): locks and renames are weaker there than a vault requires"))
            } else {
                findings.append(.good("the file system provides the locks and renames that a vault requires"))
            }
            findings.append(Doctor.lookAtAnchor(of: store))
            if let available = store.availableMemory, let needed = store.memoryNeeded {
                findings.append(
                    needed > available / 2
                        ? .warning(
                            "the key derivation takes \(needed >> 20) MiB, more than half of the available memory")
                        : .good("there is memory for the key derivation (\(needed >> 20) MiB)"))
            }
        } catch {
            let error = CommandError(VaultError(error), at: path)
            failure = error
            findings.append(.bad(error.message))
        }
        findings.append(Doctor.lookAtAgent())
        do throws(PolicyError) { findings += try Doctor.lookAtPolicy() } catch {
            let error = CommandError(error)
            failure = failure ?? error
            findings.append(.bad(error.message))
        }
        findings += Doctor.lookAtProcess()
        findings += DoorsCheck.findings(DoorsState(), PinentryLook.ofProcess())
        if isReplicated {
            do { findings += FleetCheck.findings(try FleetSummary.of(vault, checksRemotes: true)) } catch {
                guard let flaw = CommandLineTool.failure(error) else { throw error }
                findings.append(.bad("cannot check the fleet: \(flaw.message)"))
                failure = failure ?? flaw
            }
        }
        if output.json { try Output.json(findings) } else { try Output.write(findings.map(\.line).joined()) }
        if let failure { throw failure }
    }

    private static func lookAtAnchor(of store: LockedStore) -> Finding {
        let anchors = store.anchors
        guard !anchors.isEmpty else {
            return .warning(
                "this device has recorded no state of the vault yet, and would not notice an older copy")
        }
        let isNewer = anchors.contains { $0.vaultID != store.header.vaultID || $0.generation > store.header.generation }
        return isNewer
            ? .warning(
                """
                the vault is not the newest that this device has seen, or is another one: see 'vault verify \
                --accept-older'
                """
            )
            : .good("this device would notice an older copy of the vault")
    }

    private static func lookAtAgent() -> Finding {
        guard let address = AgentAddress.ofProcess else {
            return .warning("no agent can run: no VAULT_AGENT_SOCK, no XDG_RUNTIME_DIR, no own directory in /run/user")
        }
        do throws(VaultError) {
            guard let agent = try AgentControl.open(at: address) else {
                return .good("no agent is running: 'vault unlock' starts one")
            }
            let status = agent.status
            return status.version == VaultCommand.configuration.version && !agent.isOfAnotherVersion
                ? .good("the agent answers; its vault is '\(status.vault.printable)'")
                : .warning(
                    """
                    the agent is of another release, \(status.version.printable): 'vault agent --stop', and unlock again
                    """)
        } catch { return .warning(CommandError(error).message) }
    }

    /// Reports only problems of the policy.
    private static func lookAtPolicy() throws(PolicyError) -> [Finding] {
        guard let path = Vault.configurationDirectory?.appending("policy.json") else { return [] }
        return try PolicyError.check(path).map { program in
            .warning("a rule of the policy names a missing program: '\(program.printable)'")
        }
    }

    private static func lookAtProcess() -> [Finding] {
        var findings: [Finding] = []
        let secret = try? SecretBytes(random: 32)
        let isLocked = secret != nil && SecretBytes.unlockedByteCount == 0
        let limit = clinux_locked_memory_limit()
        findings.append(
            isLocked
                ? .good("secrets lie in locked memory (limit: \(limit == .max ? "none" : "\(limit >> 10) KiB"))")
                : .warning("memory cannot be locked, and secrets could reach the swap space: raise 'ulimit -l'"))
        findings.append(
            clinux_is_dumpable() == 0
                ? .good("other processes cannot inspect this one, and core dumps are disabled")
                : .warning("other processes of the user can inspect this one"))
        return findings
    }
}

/// The result of a check.
enum Finding: Encodable {
    case good(String), warning(String), bad(String)

    private enum Key: String, CodingKey { case status, message }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(parts.status, forKey: .status)
        try container.encode(parts.message, forKey: .message)
    }

    private var parts: (status: String, message: String) {
        switch self {
        case .good(let text): ("ok", text)
        case .warning(let text): ("warn", text)
        case .bad(let text): ("fail", text)
        }
    }

    var line: String { (parts.status + "    ").prefix(6) + parts.message + "\n" }
}

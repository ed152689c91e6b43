// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
package import Vault
package import VaultAgent
package import VaultCrypto
internal import VaultSystem

/// A process that connects to a door, as identified by the bus and the kernel.
package struct DoorClient: Hashable, Sendable {
    package let process: Int32
    /// The start time, in clock ticks since boot: another process may get the same number, but not the same start time.
    package let startTime: UInt64
    /// The name of the program, for display; empty if unknown.
    package let program: String
    /// The application of the process's sandbox; empty if the sandbox does not identify it; `nil` outside of a sandbox.
    package let sandbox: String?
}

extension DoorClient {
    /// Fails if the process has ended. Waits for the identity of its sandbox, which may take a second.
    package init?(_ process: Int32) { self.init(process) { Sandbox.of(process) } }

    /// Identifies the process at the other end of a socket, as ``init(_:)``.
    package init?(peer descriptor: Int32) {
        guard let process = Descriptor.peer(of: descriptor)?.process else { return nil }
        // A process handle, where the kernel offers one (Linux 6.5): the number may belong to another process by now.
        let handle: Descriptor?
        do throws(Errno) { handle = try Descriptor(clinux_peer_process(descriptor)) } catch {
            guard error == Errno(rawValue: ENOPROTOOPT) else { return nil }
            handle = nil
        }
        self.init(process)
        switch handle {
        case .some(let handle): guard clinux_has_ended(handle.number, 0) == 0 else { return nil }
        case .none: break
        }
    }

    private init?(_ process: Int32, _ sandbox: () -> Sandbox) {
        guard let startTime = ProcessTable.startTime(of: process) else { return nil }
        let (program, sandbox) = (DoorClient.program(of: process), sandbox())
        // The data may be that of a later process with the same number.
        guard ProcessTable.startTime(of: process) == startTime else { return nil }
        self.init(process: process, startTime: startTime, program: program, sandbox: sandbox.name)
    }

    /// The result of identifying a process without blocking, for a thread that serves other clients as well.
    package enum Look {
        /// The client; `nil` if the process has ended.
        case known(DoorClient?)
        /// The sandbox must be inspected, which needs another thread.
        case takesLong

        package init(_ process: Int32) {
            let sandbox = Sandbox.atOnce(process)
            self = sandbox.map { sandbox in .known(DoorClient(process) { sandbox }) } ?? .takesLong
        }
    }

    /// Returns the last component of the executable's path, or, if that is not accessible, the name the process gave
    /// itself.
    package static func program(of process: Int32) -> String {
        let path = ProcessTable.executable(of: process)?.split(separator: "/").last
        return path.map(String.init) ?? ProcessTable.name(of: process) ?? ""
    }
}

/// The outcome of a question to the user.
package enum PromptOutcome: Equatable, Sendable {
    /// The vault is unlocked, or created.
    case done
    case dismissed
    /// The user cannot be asked.
    case unavailable
    case failed
}

extension PromptOutcome {
    package init(_ error: PromptError) {
        self =
            switch error {
            case .unavailable: .unavailable
            // An absent user is not asked repeatedly either.
            case .dismissed, .timedOut: .dismissed
            case .failed: .failed
            }
    }
}

/// The services that a door uses from its process: the vault's location, its agent, and prompts.
package protocol DoorHouse: Sendable {
    /// Connects to the agent, as one client or on behalf of one. Returns `nil` if no agent runs.
    ///
    /// - Parameter groups: the requested access groups; `nil` for those that the agent grants the client, or all
    ///   without a client.
    func agent(for client: DoorClient?, in groups: AccessGroups?) throws(VaultError) -> AgentClient?

    /// Whether a vault exists, locked or not.
    var hasVault: Bool { get }

    /// Whether the user can be asked.
    var canAsk: Bool { get }

    /// Asks for the passphrase and unlocks the agent, starting one if none runs. Waits for earlier questions, and for
    /// the user.
    ///
    /// - Parameter isForwarded: whether the request may come from another machine; the user is told so.
    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome

    /// Asks for a new passphrase and creates the vault.
    func makeVault(for client: DoorClient, until stop: PromptStop) -> PromptOutcome

    /// Asks the user for a confirmation, and waits for the answer.
    ///
    /// - Returns: `.done` if confirmed, `.dismissed` if declined.
    func confirm(_ question: PromptQuestion, until stop: PromptStop) -> PromptOutcome

    /// Asks for the passphrase and returns it unused; waits for the user.
    func ask(_ question: PromptQuestion, until stop: PromptStop) throws(PromptError) -> SecretBytes
}

extension DoorHouse {
    package func agent(for client: DoorClient?) throws(VaultError) -> AgentClient? { try agent(for: client, in: nil) }

    /// Unlocks for a process of this machine.
    package func unlock(for client: DoorClient, until stop: PromptStop) -> PromptOutcome {
        unlock(for: client, isForwarded: false, until: stop)
    }
}

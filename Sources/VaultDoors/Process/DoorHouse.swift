// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import Vault
package import VaultAgent
package import VaultCrypto

/// A process that comes to a door, as the bus and the kernel know it.
package struct DoorClient: Hashable, Sendable {
    package let process: Int32
    /// In clock ticks since the machine started: another process may get the same number, but not at the same time.
    package let startTime: UInt64
    /// What it runs, for a person; empty: that cannot be told.
    package let program: String
    /// The application that its sandbox was made for; empty: one of which that cannot be told; nil: it is in none.
    package let sandbox: String?
}

extension DoorClient {
    /// Nil: it has ended. Waits for what its sandbox says, which may take a second.
    package init?(_ process: Int32) {
        self.init(process) { Sandbox.of(process) }
    }

    /// The process at the other end of a socket, as ``init(_:)``.
    init?(peer descriptor: Int32) {
        var (process, user): (Int32, UInt32) = (0, 0)
        guard unsafe clinux_peer(descriptor, &process, &user) == 0 else { return nil }
        // Where the kernel has one (Linux 6.5): another process may have the number by now.
        let handle = Int32(clamping: clinux_peer_process(descriptor))
        defer { if handle >= 0 { close(handle) } }
        self.init(process)
        guard handle >= 0 ? clinux_has_ended(handle, 0) == 0 : handle == -ENOPROTOOPT else { return nil }
    }

    private init?(_ process: Int32, _ sandbox: () -> Sandbox) {
        guard let startTime = ProcessTable.startTime(of: process) else { return nil }
        let (program, sandbox) = (DoorClient.program(of: process), sandbox())
        // What was read may be of a later process with that number.
        guard ProcessTable.startTime(of: process) == startTime else { return nil }
        self.init(process: process, startTime: startTime, program: program, sandbox: sandbox.name)
    }

    /// A look at a process from a thread that serves others.
    enum Look {
        /// Nil: it has ended.
        case known(DoorClient?)
        /// Its sandbox has to be looked into, which takes another thread.
        case takesLong

        init(_ process: Int32) {
            let sandbox = Sandbox.atOnce(process)
            self = sandbox.map { sandbox in .known(DoorClient(process) { sandbox }) } ?? .takesLong
        }
    }

    /// The last part of its path, or, where that may not be seen, the name that it has given itself.
    static func program(of process: Int32) -> String {
        let path = ProcessTable.executable(of: process)?.split(separator: "/").last
        return path.map(String.init) ?? ProcessTable.name(of: process) ?? ""
    }
}

/// How a question to a person ended.
package enum PromptOutcome: Equatable, Sendable {
    /// The vault is unlocked, or made.
    case done
    case dismissed
    /// Nobody can be asked.
    case unavailable
    case failed
}

/// What a door has of the program that it is a part of: the vault's place, its agent, and how people are asked.
package protocol DoorHouse: Sendable {
    /// The agent, as one client or on behalf of one. Nil: none runs.
    ///
    /// - Parameter groups: the access groups that are asked for; nil: those that the agent has for the client, and
    ///   without one all.
    func agent(for client: DoorClient?, in groups: AccessGroups?) throws(VaultError) -> AgentClient?

    /// Whether there is a vault, locked or not.
    var hasVault: Bool { get }

    /// Whether a person can be asked.
    var canAsk: Bool { get }

    /// Asks for the passphrase and unlocks the agent, which is started if there is none. Waits for its turn, and for a
    /// person.
    ///
    /// - Parameter isForwarded: whether a program on another machine may want it, which the person is told.
    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome

    /// Asks for a new passphrase and makes the vault.
    func makeVault(for client: DoorClient, until stop: PromptStop) -> PromptOutcome

    /// Asks whether something may be done, and waits for a person.
    ///
    /// - Returns: `.done`: it may; `.dismissed`: it may not.
    func confirm(_ question: PromptQuestion, until stop: PromptStop) -> PromptOutcome

    /// Asks for the passphrase, of which nothing is made here, and waits for a person.
    func ask(_ question: PromptQuestion, until stop: PromptStop) throws(PromptError) -> SecretBytes
}

extension DoorHouse {
    package func agent(for client: DoorClient?) throws(VaultError) -> AgentClient? { try agent(for: client, in: nil) }

    /// For a process of this machine's own.
    func unlock(for client: DoorClient, until stop: PromptStop) -> PromptOutcome {
        unlock(for: client, isForwarded: false, until: stop)
    }
}

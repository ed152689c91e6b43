// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import VaultSystem

/// The process of an agent's doors, which ends with the agent.
final class AgentDoors {
    private let process: Int32
    private let announcement: Descriptor
    /// The standard input of the process, which opens the doors when the input ends.
    private var gate: Descriptor?

    /// Starts the process. A program that finds the doors open is told whether the vault is locked, so they stay closed
    /// while the agent unlocks the vault.
    init(on vault: FilePath) throws {
        let arguments = [
            Helper.ownExecutable, "doors", Door.secretService.option, "--vault", vault.string, "--parent",
            "\(getpid())",
        ]
        let input = try Helper.pipe()
        let output = try Helper.pipe()
        process = try Helper(arguments).beside(input: input.reading.number, output: output.writing.number)
        gate = Descriptor(owning: input.writing.take())
        announcement = Descriptor(owning: output.reading.take())
    }

    deinit { Helper.end(process) }

    /// Opens the doors.
    ///
    /// - Throws: the reason if they cannot be opened.
    func open() throws {
        gate = nil
        let tooLong = CommandError(.failure, "the door says too much")
        try AgentLauncher.check(SecretReader.read(announcement.number, limit: 4096, tooLong: tooLong), "the door")
    }

    /// Waits, in the process of the doors, until the agent opens them or ends.
    static func awaitOpening() { try? SecretReader.parts(of: STDIN_FILENO) { _ in } }
}

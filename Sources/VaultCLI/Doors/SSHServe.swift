// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultAgentServer
internal import VaultDoors

/// The socket of the agent of ssh, for as long as this process serves it.
final class SSHServe {
    private var socket: AgentSocket?
    private var door: SSHDoor?

    /// - Throws: code 14 when another process listens there; 30.
    init(_ path: FilePath, _ house: VaultHouse, keepsKeys: Bool) throws {
        try open(path) { SSHDoor($0, house, keepsKeys: keepsKeys) }
    }

    /// For keys that go to an open vault.
    init(_ path: FilePath, _ store: any ItemStore) throws { try open(path) { SSHDoor($0, store) } }

    private func open(_ path: FilePath, _ listen: (Int32) -> SSHDoor?) throws {
        let descriptor: Int32
        if let activated = AgentSocket.activated {
            descriptor = activated
        } else {
            do throws(AgentSocketError) {
                let made = try AgentSocket.make(path.isAbsolute ? path : FilePath(".").pushing(path))
                descriptor = made.descriptor
                socket = consume made
            } catch { throw SSHServe.failure(error, path) }
        }
        guard let door = listen(descriptor) else {
            throw CommandError(.inputOutput, "cannot listen at '\(path.string.printable)'")
        }
        self.door = door
    }

    func close() {
        door?.close()
        door = nil
        // Takes it away.
        socket = nil
    }

    private static func failure(_ error: AgentSocketError, _ path: FilePath) -> CommandError {
        switch error {
        case .running:
            CommandError(
                .busy, "another process listens at '\(path.string.printable)'", hint: "see 'vault doors status'")
        case .noAddress: CommandError(.inputOutput, "there is no place for the socket")
        case .directory(let directory):
            CommandError(
                .inputOutput, "others may look into '\(directory.string.printable)'",
                hint: "a socket is in a directory of your own, mode 0700")
        case .inTheWay(let path):
            CommandError(.inputOutput, "'\(path.string.printable)' is there, and no socket of yours")
        case .system(let errno):
            CommandError(
                .inputOutput,
                "cannot listen at '\(path.string.printable)': \(errno.description.lowercased())")
        }
    }
}

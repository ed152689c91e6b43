// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultStorage
internal import VaultSSHAgent

/// The socket of the ssh agent, served by this process.
final class SSHServe: OpenedDoor {
    private var socket: DoorSocket?
    private var door: SSHDoor?

    /// - Throws: code 14 if another process listens there; 30.
    init(_ path: FilePath, _ house: VaultHouse, keepsKeys: Bool) throws {
        let order = VaultEnvironment.system.stateDirectory?.appending("ssh-order")
        try open(path) { SSHDoor($0, house, keepsKeys: keepsKeys, order: order, note: Output.note) }
    }

    /// Serves an open vault, in which added keys are stored.
    init(_ path: FilePath, _ store: any ItemStore) throws { try open(path) { SSHDoor($0, store, note: Output.note) } }

    private func open(_ path: FilePath, _ listen: (Int32) -> SSHDoor?) throws {
        let socket = try DoorSocket(path)
        door = try socket.opened(listen(socket.descriptor))
        self.socket = socket
    }

    func close() {
        door?.close()
        door = nil
        // Removes the socket.
        socket = nil
    }
}

extension DoorServing {
    /// - Parameter keepsKeys: whether keys added by 'ssh-add' are stored in the vault.
    static func ssh(at path: FilePath, keepsKeys: Bool) -> DoorServing {
        DoorServing(audience: .people) { house, _ in try SSHServe(path, house, keepsKeys: keepsKeys) }
    }
}

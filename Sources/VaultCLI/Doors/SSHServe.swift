// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultDoors

/// The socket of the agent of ssh, for as long as this process serves it.
final class SSHServe {
    private var socket: DoorSocket?
    private var door: SSHDoor?

    /// - Throws: code 14 when another process listens there; 30.
    init(_ path: FilePath, _ house: VaultHouse, keepsKeys: Bool) throws {
        try open(path) { SSHDoor($0, house, keepsKeys: keepsKeys) }
    }

    /// For keys that go to an open vault.
    init(_ path: FilePath, _ store: any ItemStore) throws { try open(path) { SSHDoor($0, store) } }

    private func open(_ path: FilePath, _ listen: (Int32) -> SSHDoor?) throws {
        let socket = try DoorSocket(path)
        door = try socket.opened(listen(socket.descriptor))
        self.socket = socket
    }

    func close() {
        door?.close()
        door = nil
        // Takes it away.
        socket = nil
    }
}

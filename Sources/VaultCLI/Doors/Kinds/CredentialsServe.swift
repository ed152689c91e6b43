// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCredentials

/// The socket from which systemd's units get their credentials, served by this process.
final class CredentialsServe: OpenedDoor {
    private var socket: DoorSocket?
    private var door: CredentialSocket?

    /// - Throws: code 14 if another process listens there; 30.
    init(_ path: FilePath, _ house: VaultHouse) throws {
        let socket = try DoorSocket(path)
        door = try socket.opened(CredentialSocket(socket.descriptor, house: house, report: { Output.note($0) }))
        self.socket = socket
    }

    func close() {
        door = nil
        // Removes the socket.
        socket = nil
    }
}

extension DoorServing {
    static func credentials(at path: FilePath) -> DoorServing {
        DoorServing(audience: .units) { house, _ in try CredentialsServe(path, house) }
    }
}

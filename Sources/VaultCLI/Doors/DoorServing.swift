// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultCredentials
internal import VaultSSHAgent
internal import VaultSecretService
internal import VaultStorage

/// A door that a process opens, and keeps open until it ends.
struct DoorServing {
    enum Audience {
        /// Services without a person, which are never prompted for.
        case units
        /// Programs of a person, who can be asked where this process was started.
        case people
        /// Programs of the session to which the bus belongs.
        case session
    }

    /// Ends the prompts of an open door, whose answers would go nowhere, and removes its socket.
    typealias Closing = () -> Void

    let audience: Audience
    /// Opens the door.
    ///
    /// - Parameter end: ends the process; called when the door cannot go on.
    let open: (_ house: VaultHouse, _ end: @escaping @Sendable (CommandError) -> Void) throws -> Closing
}

extension DoorServing {
    /// The socket from which systemd's units get their credentials.
    static func credentials(at path: FilePath) -> DoorServing {
        DoorServing(audience: .units) { house, _ in
            try DoorSocket.serve(path) { CredentialSocket($0, house: house, report: { Output.note($0) }) }
        }
    }

    /// The socket of the ssh agent.
    ///
    /// - Parameter keepsKeys: whether keys added by 'ssh-add' are stored in the vault.
    static func ssh(at path: FilePath, keepsKeys: Bool) -> DoorServing {
        DoorServing(audience: .people) { house, _ in
            let order = VaultEnvironment.system.stateDirectory?.appending("ssh-order")
            return try DoorSocket.serve(path) {
                SSHDoor($0, house, keepsKeys: keepsKeys, order: order, note: Output.note)
            }
        }
    }

    /// Returns the service that has the names of the doors on the session bus; `nil` without a name.
    static func bus(secretService: Bool, portal: Bool) -> DoorServing? {
        let names = (secretService ? [SecretService.Name.secretService] : []) + (portal ? [.portal] : [])
        guard !names.isEmpty else { return nil }
        return DoorServing(audience: .session) { house, end in
            do throws(DoorError) {
                return try SecretService.start(names, house: house) { end(CommandError($0)) }.close
            } catch { throw CommandError(error) }
        }
    }
}

extension CommandError {
    init(_ error: DoorError) {
        switch error {
        case .noLibrary:
            self.init(.inputOutput, "the library for D-Bus is not there", hint: "install libsystemd0")
        case .noBus:
            self.init(
                .inputOutput, "there is no session bus", hint: "set DBUS_SESSION_BUS_ADDRESS, or 'dbus-run-session'")
        case .busLost: self.init(.inputOutput, "the session bus has gone")
        case .nameTaken(let name, let process, let program):
            let owner = program.isEmpty ? "another program" : "'\(program.printable)'"
            self.init(
                .busy, "\(owner) (process \(process)) has the name \(name)",
                hint: "see 'vault doors status'; 'vault doors enable' tells the session to start this one instead")
        case .noDescriptors:
            self.init(.resources, "the process has too many files open", hint: "raise its limit: see 'ulimit -n'")
        }
    }
}

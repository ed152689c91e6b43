// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultAgentServer
internal import VaultCredentials
internal import VaultDoorKit
internal import VaultSecretService

/// The doors that a process serves.
struct ServedDoors {
    /// The names on the session bus.
    var names: SecretService.Names = []
    /// The socket from which units get their credentials.
    var credentials: FilePath?
    /// The socket of the ssh agent.
    var ssh: FilePath?
    /// Whether keys added by 'ssh-add' are stored in the vault.
    var keepsSSHKeys = false

    var isEmpty: Bool { names.isEmpty && credentials == nil && ssh == nil }
}

/// Serves doors until the process is told to end, or the bus disconnects.
final class DoorsServe: Sendable {
    private let end = DispatchSemaphore(value: 0)
    private let failure = Mutex<DoorError?>(nil)

    /// - Parameter isOpen: called once programs are served.
    func run(_ doors: ServedDoors, _ house: VaultHouse, _ isOpen: () -> Void) throws {
        let signals = EndSignals { [end] in end.signal() }
        let credentials = try doors.credentials.map { try DoorsServe.credentials($0, house) }
        let ssh = try doors.ssh.map { try SSHServe($0, house, keepsKeys: doors.keepsSSHKeys) }
        let service = try doors.names.isEmpty ? nil : service(doors.names, house)
        // Units are never prompted for.
        let asksPeople = service != nil || ssh != nil
        let places = asksPeople ? DoorsServe.hear(house, isOnBus: service != nil) : nil
        // A process that serves interactive programs can also ask the user for the agent.
        let presence = asksPeople ? PresenceDoor(house) : nil
        isOpen()
        end.wait()
        presence?.close()
        // A prompt must not outlive this process, since its answer would go nowhere.
        service?.close()
        ssh?.close()
        withExtendedLifetime((signals, service, credentials)) {}
        places?.end()
        if let failure = failure.withLock({ $0 }) { throw CommandError(failure) }
    }

    private func service(_ names: SecretService.Names, _ house: VaultHouse) throws -> SecretService {
        do throws(DoorError) {
            return try SecretService.start(names, house: house) { [self] in finish($0) }
        } catch { throw CommandError(error) }
    }

    private static func credentials(_ path: FilePath, _ house: VaultHouse) throws -> (DoorSocket, CredentialSocket) {
        let socket = try DoorSocket(path)
        return (
            socket, try socket.opened(CredentialSocket(socket.descriptor, house: house, report: { Output.note($0) }))
        )
    }

    /// Listens for the place where the user can be asked. Without a socket, doors ask where they were started.
    private static func hear(_ house: VaultHouse, isOnBus: Bool) -> Places? {
        let paths = PlaceSocket.paths(ProcessEnvironment.variable)
        guard let path = isOnBus ? paths.first : paths.last else { return nil }
        do throws(AgentSocketError) { return Places(try AgentSocket.make(path), house) } catch {
            Output.note("'vault doors --here' will not work: \(CommandError(error).message)")
            return nil
        }
    }

    private final class Places {
        private var socket: AgentSocket?
        private var listener: PlaceSocket?

        init(_ socket: consuming AgentSocket, _ house: VaultHouse) {
            listener = PlaceSocket(socket.descriptor) { told in
                house.ask(
                    at: PromptPlace { name in
                        told[name] ?? (PromptPlace.names.contains(name) ? nil : ProcessEnvironment.variable(name))
                    })
            }
            self.socket = consume socket
        }

        func end() {
            listener = nil
            socket = nil
        }
    }

    private func finish(_ error: DoorError) {
        failure.withLock { $0 = error }
        end.signal()
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
        case .failed: self.init(.failure, "the doors could not be opened")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import Vault
internal import VaultAgentServer
internal import VaultDoorKit

/// Serves doors until the process is told to end, or the bus disconnects.
final class DoorsServe: Sendable {
    private let end = DispatchSemaphore(value: 0)
    private let failure = Mutex<CommandError?>(nil)

    /// - Parameter isOpen: called once programs are served.
    func run(_ servings: [DoorServing], _ house: VaultHouse, _ isOpen: () -> Void) throws {
        let signals = EndSignals { [end] in end.signal() }
        let doors = try servings.map { try $0.open(house) { [self] in finish($0) } }
        let audiences = servings.map(\.audience)
        let asksPeople = audiences.contains { $0 != .units }
        let places = asksPeople ? DoorsServe.hear(house, isOnBus: audiences.contains(.session)) : nil
        // A process that serves interactive programs can also ask the user for the agent.
        let presence = asksPeople ? PresenceDoor(house) : nil
        isOpen()
        end.wait()
        presence?.close()
        for close in doors.reversed() { close() }
        withExtendedLifetime(signals) {}
        places?.end()
        if let failure = failure.withLock({ $0 }) { throw failure }
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

    private func finish(_ error: CommandError) {
        failure.withLock { $0 = error }
        end.signal()
    }
}

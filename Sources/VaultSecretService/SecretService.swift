// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultBus
internal import VaultLoop
package import VaultDoorKit

/// The reason why a door cannot be opened.
package enum DoorError: Error, Equatable, Sendable {
    /// libsystemd is missing or too old.
    case noLibrary
    /// There is no bus.
    case noBus
    /// The connection to the bus was lost.
    case busLost
    /// Another process owns the name.
    case nameTaken(name: String, process: Int32, program: String)
    /// The process has reached its limit of open files.
    case noDescriptors
}

/// The name `org.freedesktop.secrets` on a bus (Secret Service API, 0.2), from which desktop programs get their
/// secrets. The service only translates; the agent decides which access a client has.
///
/// The connection, and all state, belongs to one queue. Blocking work runs elsewhere.
///
/// Size: a call may touch its client's sessions, views and prompts, so one actor has them all; each is a value with
/// state of its own.
package actor SecretService {
    private let loop: SocketLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// The names of the interfaces to be served.
    package enum Name: String, Sendable {
        case secretService = "org.freedesktop.secrets"
        case portal = "org.freedesktop.impl.portal.desktop.vault"
    }

    let connection: BusConnection
    let house: any DoorHouse
    /// The prompts that are shown to the user.
    let shownPrompts = DispatchGroup()
    private let ended: @Sendable (DoorError) -> Void
    private var isServing = false
    /// Whether the service is closing: no more questions are asked, since a program whose question ended would ask
    /// again.
    private(set) var isClosing = false
    var turns = CallTurns()
    /// The messages of clients that are being identified.
    var arriving: [String: [BusMessage]] = [:]
    var holdings = ClientHoldings()
    var views = ViewTable()
    var memories = SessionMemories()
    var asking = Asking()
    var lists = ListTimer()

    /// Connects to the bus and takes the names.
    ///
    /// - Parameters:
    ///   - address: the address of the bus; `nil` for the session bus.
    ///   - ended: called once when the connection to the bus has ended.
    package static func start(
        _ names: [Name], at address: String? = nil, house: any DoorHouse,
        ended: @escaping @Sendable (DoorError) -> Void
    ) throws(DoorError) -> SecretService {
        let service: SecretService
        guard let loop = SocketLoop(label: "vault.door") else { throw .noDescriptors }
        do throws(BusError) { service = try SecretService(loop, address, house, ended) } catch {
            throw error == .noLibrary ? .noLibrary : .noBus
        }
        let begun: Result<Void, DoorError> = service.loop.queue.sync {
            service.assumeIsolated { service in
                do throws(DoorError) { return .success(try service.begin(names)) } catch { return .failure(error) }
            }
        }
        try begun.get()
        service.loop.run { [weak service] _ in service?.assumeIsolated { $0.pump() } }
        return service
    }

    deinit { loop.end() }

    private init(
        _ loop: SocketLoop, _ address: String?, _ house: any DoorHouse, _ ended: @escaping @Sendable (DoorError) -> Void
    ) throws(BusError) {
        self.loop = loop
        connection = try BusConnection(address, patience: .seconds(10))
        (self.house, self.ended) = (house, ended)
    }

    private func begin(_ names: [Name]) throws(DoorError) {
        do throws(BusError) {
            try connection.match(
                """
                type='signal',sender='\(BusDaemon.name)',interface='\(BusDaemon.name)',member='NameOwnerChanged',\
                arg2=''
                """)
            for name in names.map(\.rawValue) {
                guard try connection.takeName(name) else { throw BusError.refused(name: name) }
            }
        } catch {
            guard case .refused(let name) = error else { throw .busLost }
            let owner = (try? BusNames(on: connection).owner(of: name))?.process ?? 0
            throw .nameTaken(name: name, process: owner, program: DoorClient.program(of: owner))
        }
        isServing = true
    }

    /// Receives what the agent says of its state. A view lives on the service's thread, which alone reports.
    var reporter: (VaultView, VaultView.News) -> Void {
        { [weak self] view, news in
            nonisolated(unsafe) let view = view
            self?.assumeIsolated { unsafe $0.note(news, of: view) }
        }
    }

    // MARK: Messages

    /// Receives messages, and writes pending ones. If a client sends faster than it is answered, the bus queues its
    /// messages, and no other client is delayed.
    private func pump() -> SocketLoop.Wait {
        do throws(BusError) {
            for _ in 0..<CallTurns.mostCalls where isServing {
                // The next finished call makes room.
                guard turns.hasRoom else { return .none }
                switch try connection.next() {
                case .message(let message): take(message)
                case .progress: continue
                case .nothing:
                    let events: SocketLoop.Events = connection.wantsToWrite ? [.reading, .writing] : .reading
                    return SocketLoop.Wait([(connection.descriptor, events)], patience: connection.rest)
                }
            }
        } catch { end() }
        // Without a bus, the calls under way still run to their end.
        return isServing ? .more : .none
    }

    private func end() {
        isServing = false
        isClosing = true
        views.closeAll()
        asking.stop()
        ended(.busLost)
    }

    /// Cancels all questions. Waits until the prompt has disappeared.
    package nonisolated func close() {
        let stopped = DispatchSemaphore(value: 0)
        Task {
            await stopAsking()
            stopped.signal()
        }
        let deadline = DispatchTime.now() + 2
        _ = stopped.wait(timeout: deadline)
        _ = shownPrompts.wait(timeout: deadline)
    }

    private func stopAsking() {
        isClosing = true
        asking.stop()
    }

    func take(_ message: BusMessage) {
        guard let sender = message.sender else { return }
        guard message.isCall else {
            if message.isSignal(BusDaemon.ownerChanged, from: BusDaemon.name, at: BusDaemon.path) {
                if let name = try? message.text() { forgetClient(name) }
            }
            return
        }
        do throws(ServiceRefusal) {
            // A message that is refused unread may contain a secret as well.
            try message.reading { message throws(BusError) in try message.markSecret() }
            guard let client = try client(sender, message) else { return }
            if message.objectPath == Portal.path { return try answerPortal(message, client) }
            let (object, call) = try ServiceCall.of(
                path: message.objectPath, interface: message.interface, member: message.member,
                signature: message.signature)
            if call == .get || call == .getAll, [.service, .collection].contains(ServiceCall.Kind(object)) {
                holdings.noteListsRead(by: sender)
            }
            let request = ServiceRequest(message: message, object: object, client: client)
            if let values = try answerAtOnce(call, request) { return try reply(message, values) }
            turns.begin()
            Task {
                do throws(ServiceRefusal) { try reply(message, try await answer(call, request)) } catch {
                    refuse(message, error)
                }
                turns.end()
            }
        } catch { refuse(message, error) }
    }

    /// Sends the answer to a call.
    func reply(_ call: BusMessage, _ values: [BusValue]) throws(ServiceRefusal) {
        guard call.expectsAnswer else { return }
        try call.reading { call throws(BusError) in
            let answer = try call.answer()
            try answer.append(values)
            try connection.send(answer)
        }
    }

    func refuse(_ call: BusMessage, _ refusal: ServiceRefusal) {
        guard call.expectsAnswer, let answer = try? call.refusal(refusal.name, refusal.text) else { return }
        try? connection.send(answer)
    }
}

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
    case failed
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

    /// The interfaces to be served.
    package struct Names: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let secretService = Names(rawValue: 1)
        package static let portal = Names(rawValue: 2)

        static let names: [(Names, String)] = [
            (.secretService, "org.freedesktop.secrets"), (.portal, "org.freedesktop.impl.portal.desktop.vault"),
        ]
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
        _ names: Names, at address: String? = nil, house: any DoorHouse,
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

    private func begin(_ names: Names) throws(DoorError) {
        do throws(BusError) {
            try connection.match(
                """
                type='signal',sender='\(BusDaemon.name)',interface='\(BusDaemon.name)',member='NameOwnerChanged',\
                arg2=''
                """)
            for (name, text) in Names.names where names.contains(name) {
                guard try connection.takeName(text) else { throw BusError.refused(name: text) }
            }
        } catch {
            guard case .refused(let name) = error else { throw .busLost }
            let owner = (try? BusNames(on: connection).owner(of: name))?.process ?? 0
            throw .nameTaken(name: name, process: owner, program: DoorClient.program(of: owner))
        }
        isServing = true
    }

    // MARK: Messages

    /// Receives messages, and writes pending ones. If a client sends faster than it is answered, the bus queues its
    /// messages, and no other client is delayed.
    ///
    /// - Returns: the event to wait for.
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

    /// Gathers secrets, a limited number of calls at a time.
    func inTurn<R>(_ body: () async throws(ServiceRefusal) -> R) async throws(ServiceRefusal) -> R {
        if !turns.beginGathering() { await withCheckedContinuation { turns.wait($0) } }
        defer { turns.endGathering() }
        return try await body()
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
            try reading { () throws(BusError) in try message.markSecret() }
            guard let client = try client(sender, message) else { return }
            if message.objectPath == Portal.path { return try answerPortal(message, client) }
            let (object, call) = try ServiceCall.of(
                path: message.objectPath, interface: message.interface, member: message.member,
                signature: message.signature)
            if call == .get || call == .getAll, [.service, .collection].contains(ServiceCall.Kind(object)) {
                holdings.noteListsRead(by: sender)
            }
            if try answerAtOnce(message, object, call, client) { return }
            turns.begin()
            Task {
                do throws(ServiceRefusal) { try await answer(message, object, call, client) } catch {
                    refuse(message, error)
                }
                turns.end()
            }
        } catch { refuse(message, error) }
    }

    /// Sends the answer to a call.
    func reply(
        _ call: BusMessage, _ write: (BusMessage) throws(BusError) -> Void = { _ throws(BusError) in }
    ) throws(ServiceRefusal) {
        guard call.expectsAnswer else { return }
        try reading { () throws(BusError) in
            let answer = try call.answer()
            try write(answer)
            try connection.send(answer)
        }
    }

    /// Sends an answer with secrets, which libsystemd wipes.
    ///
    /// - Parameters:
    ///   - write: writes the answer, with room for the secrets.
    ///   - fill: reads the written answer, and fills the secrets in.
    func replySecretly(
        _ call: BusMessage, _ write: (BusMessage) throws(BusError) -> Void,
        fill: (BusMessage) throws(BusError) -> Void
    ) throws(ServiceRefusal) {
        guard call.expectsAnswer else { return }
        try reading { () throws(BusError) in
            let answer = try call.answer()
            try answer.markSecret()
            try write(answer)
            try answer.fillRooms { () throws(BusError) in try fill(answer) }
            try connection.send(answer)
        }
    }

    func refuse(_ call: BusMessage, _ refusal: ServiceRefusal) {
        guard call.expectsAnswer, let answer = try? call.refusal(refusal.name, refusal.text) else { return }
        try? connection.send(answer)
    }

    func reading<R>(_ body: () throws(BusError) -> R) throws(ServiceRefusal) -> R {
        do throws(BusError) { return try body() } catch { throw ServiceRefusal(error) }
    }

    // MARK: Clients

    /// Frees all state of a client that has disconnected.
    private func forgetClient(_ name: String) {
        arriving[name] = nil
        guard let (client, prompts) = holdings.remove(name) else { return }
        for number in prompts { asking.leave(.prompt(number)) }
        asking.leave(.search(name))
        let rest = holdings.clients.values
        if !rest.contains(where: { MemoryKey($0) == MemoryKey(client) }) { memories.forget(MemoryKey(client)) }
        if !rest.contains(where: { $0.process == client.process }) { views.remove(client.process) }
    }
}

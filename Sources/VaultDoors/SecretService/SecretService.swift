// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultBus

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
package actor SecretService {
    private let loop: DoorLoop
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
    private let ended: @Sendable (DoorError) -> Void
    private var isServing = false
    /// Whether the service is closing: no more questions are asked, since a program whose question ended would ask
    /// again.
    private(set) var isClosing = false
    /// The number of calls being answered, without those that wait for the user.
    var underWay = 0
    /// The number of calls that gather secrets of many items, and the calls that wait for their turn.
    private var gathering: (count: Int, waiting: [CheckedContinuation<Void, Never>]) = (0, [])
    /// The pending questions to the user.
    let asking = DispatchGroup()

    var clients: [String: ServiceClient] = [:]
    /// The messages of clients that are being identified.
    var arriving: [String: [BusMessage]] = [:]
    /// The views by client; the key `nil` is the view shared by all clients without one of their own.
    var views: [DoorClient?: VaultView] = [:]
    /// The views whose agents are being asked. A task returns the reason why there is no view.
    var connecting: [DoorClient?: Task<ServiceRefusal?, Never>] = [:]
    /// The clients with a view, in the order of their last use.
    var viewsByUse: [DoorClient] = []
    var sessions: [Int: ServiceSession] = [:]
    var prompts: [Int: ServicePrompt] = [:]
    var searches: [Int: LockedSearch] = [:]
    var memories: [MemoryKey: SessionCollection] = [:]
    /// The memories whose lists are to be sent.
    var memoryLists: Set<MemoryKey> = []
    /// The number of searches of each program that wait for the user.
    var waiting: [ServiceProgram: Int] = [:]
    var question: Question?
    var lists = ListTimer()
    /// The processes that the user has refused.
    var dismissals = Refusals()
    private let beginning = ContinuousClock.now
    var sinceBeginning: Duration { beginning.duration(to: .now) }
    private var number = 0

    /// The maximum number of calls answered at the same time: each keeps its message, which may have 16 MiB.
    private static let mostCalls = 64
    /// The maximum number of calls that gather secrets of many items at the same time: each may have 60 MiB of them.
    private static let mostGatherings = 2

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
        guard let loop = DoorLoop(label: "vault.door") else { throw .noDescriptors }
        do throws(BusError) { service = try SecretService(loop, address, house, ended) } catch {
            throw error == .noLibrary ? .noLibrary : .noBus
        }
        let begun: Result<Void, DoorError> = service.loop.queue.sync {
            service.assumeIsolated { service in
                do throws(DoorError) { return .success(try service.begin(names)) } catch { return .failure(error) }
            }
        }
        try begun.get()
        service.loop.run { [weak service] in service?.assumeIsolated { $0.pump() } }
        return service
    }

    deinit { loop.end() }

    private init(
        _ loop: DoorLoop, _ address: String?, _ house: any DoorHouse, _ ended: @escaping @Sendable (DoorError) -> Void
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
    private func pump() -> DoorLoop.Event {
        do throws(BusError) {
            for _ in 0..<SecretService.mostCalls where isServing {
                // The next finished call makes room.
                guard underWay < SecretService.mostCalls else { return .none }
                switch try connection.next() {
                case .message(let message): take(message)
                case .progress: continue
                case .nothing:
                    return DoorLoop.Event(
                        descriptor: connection.descriptor, isForWriting: connection.wantsToWrite,
                        patience: connection.rest)
                }
            }
        } catch { end() }
        // Without a bus, the calls under way still run to their end.
        return isServing ? .more : .none
    }

    /// Gathers secrets, a limited number of calls at a time.
    func inTurn<R>(_ body: () async throws(ServiceRefusal) -> R) async throws(ServiceRefusal) -> R {
        if gathering.count < SecretService.mostGatherings {
            gathering.count += 1
        } else {
            // A call that ends passes its turn on.
            await withCheckedContinuation { gathering.waiting.append($0) }
        }
        defer {
            if gathering.waiting.isEmpty { gathering.count -= 1 } else { gathering.waiting.removeFirst().resume() }
        }
        return try await body()
    }

    private func end() {
        isServing = false
        isClosing = true
        for view in views.values { view.close() }
        views = [:]
        question?.stop.stop()
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
        _ = asking.wait(timeout: deadline)
    }

    private func stopAsking() {
        isClosing = true
        question?.stop.stop()
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
                clients[sender]?.looksAtLists = true
            }
            if try answerAtOnce(message, object, call, client) { return }
            underWay += 1
            Task {
                do throws(ServiceRefusal) { try await answer(message, object, call, client) } catch {
                    refuse(message, error)
                }
                underWay -= 1
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

    /// Returns the number of a new object: no path repeats within the life of the process.
    func nextNumber() -> Int {
        number += 1
        return number
    }

    // MARK: Clients

    /// Frees all state of a client that has disconnected.
    private func forgetClient(_ name: String) {
        arriving[name] = nil
        guard let client = clients.removeValue(forKey: name) else { return }
        sessions = sessions.filter { $0.value.owner != name }
        searches = searches.filter { $0.value.owner != name }
        for (number, prompt) in prompts where prompt.owner == name {
            prompts[number] = nil
            question?.leave(.prompt(number))
        }
        question?.leave(.search(name))
        if !clients.values.contains(where: { memoryKey($0) == memoryKey(client) }),
            case .process = memoryKey(client)
        {
            memories[memoryKey(client)] = nil
        }
        if !clients.values.contains(where: { $0.process == client.process }) {
            views.removeValue(forKey: client.process)?.close()
            viewsByUse.removeAll { $0 == client.process }
        }
    }
}

/// A connection of the bus that has called.
struct ServiceClient: Sendable {
    let name: String
    let process: DoorClient
    /// Whether the client has read properties that include whole lists.
    var looksAtLists = false

    var isSandboxed: Bool { process.sandbox != nil }
}

// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import SystemPackage
internal import VaultSystem

/// A client of a ``SocketServer``.
package protocol SocketClient: Sendable {
    /// Answers what the client has sent, on a thread on which waiting blocks no other client.
    ///
    /// - Returns: `false` if the connection is to end.
    func serve() -> Bool

    /// Called when the client disconnects during ``serve()``, or loses its place, or the server ends.
    func hangUp()

    /// The use of the connection after an answer, before the next request.
    var use: Places.Use { get }
}

extension SocketClient {
    package var use: Places.Use { .idle }
}

/// A socket whose clients may wait for a person or the vault, each without blocking the others. One thread waits for
/// all of them; a client occupies another one only while it is served.
package actor SocketServer {
    /// The treatment of clients.
    package struct Rules: Sendable {
        /// Whether a client is served when it connects, or when it has sent something.
        let servesAtOnce: Bool
        let places: Places
        /// Whether a client for which no other one gives way is disconnected, or waits.
        let refusesMore: Bool
        /// The timeout for a client that does not read, in seconds.
        let sendingPatience: Int

        package init(servesAtOnce: Bool, _ places: Places, refusesMore: Bool, sendingPatience: Int) {
            self.servesAtOnce = servesAtOnce
            self.places = places
            self.refusesMore = refusesMore
            self.sendingPatience = sendingPatience
        }
    }

    private final class Served: PlaceHolder {
        let socket: Descriptor
        let client: any SocketClient
        let claim: PlaceClaim
        let queue = DispatchQueue(label: "vault.socket.client")
        var isBusy = false
        var hasHungUp = false
        /// Whether the client has given way while it was served, and ends with that.
        var isEnding = false
        private var hasAsked = false
        private(set) var lastUse = SuspendingClock.now

        init(_ socket: consuming Descriptor, _ client: any SocketClient, _ claim: PlaceClaim) {
            self.socket = socket
            self.client = client
            self.claim = claim
        }

        var use: Places.Use { isBusy ? .busy : hasAsked ? client.use : .none }

        func begin() { (isBusy, hasAsked, lastUse) = (true, true, .now) }

        /// Ends the service of a client, which is sent nothing more: neither sending nor receiving waits any longer.
        func giveWay() {
            (hasHungUp, isEnding) = (true, true)
            shutdown(socket.number, Int32(SHUT_RDWR))
            client.hangUp()
        }
    }

    private nonisolated let loop: SocketLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let rules: Rules
    private let client: @Sendable (borrowing Listener.Peer) -> (any SocketClient)?
    private let chore: @Sendable () -> ContinuousClock.Instant?
    private var listener: Listener?
    private var clients: [Int32: Served] = [:]

    /// The most connections that wait to be accepted.
    private static let backlog: Int32 = 128
    /// The longest wait for the chore's time: poll(2) does not count the time that the machine sleeps.
    private static let longestWait = Duration.seconds(30)

    /// Serves a socket until ``end()``.
    ///
    /// - Parameters:
    ///   - descriptor: a bound socket. Closed when the server ends, or if this returns `nil`.
    ///   - chore: what is to be done besides, which returns the time of its next call at the latest; `nil` for none.
    ///     Called after each event as well.
    ///   - client: makes the client of a connection, whose socket is open until the client's end; `nil` rejects the
    ///     connection.
    package init?(
        _ descriptor: Int32, _ rules: Rules, chore: @escaping @Sendable () -> ContinuousClock.Instant? = { nil },
        client: @escaping @Sendable (borrowing Listener.Peer) -> (any SocketClient)?
    ) {
        do throws(Errno) {
            listener = try Listener(
                descriptor, backlog: SocketServer.backlog, sendingPatience: rules.sendingPatience)
        } catch { return nil }
        guard let loop = SocketLoop(label: "vault.socket") else { return nil }
        (self.rules, self.client, self.chore, self.loop) = (rules, client, chore, loop)
        loop.run { ready in self.assumeIsolated { $0.pump(ready) } }
    }

    /// Accepts no further connections, disconnects idle clients, and tells the others to end.
    package nonisolated func end() { execute { $0.stop() } }

    private nonisolated func execute(_ body: @escaping @Sendable (isolated SocketServer) -> Void) {
        loop.execute { self.assumeIsolated { body($0) } }
    }

    /// - Parameter ready: the events since the last call.
    /// - Returns: the events to wait for; `nil` after the end, once the last client has gone.
    private func pump(_ ready: [Int32: SocketLoop.Events]) -> SocketLoop.Wait? {
        for (descriptor, events) in ready {
            guard let served = clients[descriptor] else { continue }
            if !served.isBusy {
                serve(descriptor)
            } else if events.contains(.end), !served.hasHungUp {
                served.hasHungUp = true
                served.client.hangUp()
            }
        }
        if listener?.isCalled(ready) == true { accept() }
        return wait
    }

    private var wait: SocketLoop.Wait? {
        guard listener != nil || !clients.isEmpty else { return nil }
        var wait = SocketLoop.Wait(patience: chore().map { min(max($0 - .now, .zero), SocketServer.longestWait) })
        if canAccept, let connections = listener?.wait { wait.add(connections) }
        for (descriptor, served) in clients where !served.hasHungUp {
            wait.descriptors.append((descriptor, served.isBusy ? .end : .reading))
        }
        return wait
    }

    private var holders: [Served] { clients.values.filter { !$0.isEnding } }

    private var canAccept: Bool {
        rules.refusesMore || clients.count < rules.places.most || rules.places.canAdmit(to: holders)
    }

    private func accept() {
        // Clients that connect without end do not keep the others waiting.
        for _ in 0..<Listener.mostAtOnce {
            guard canAccept, let peer = listener?.accept() else { return }
            guard let client = client(peer) else { continue }
            let (descriptor, claim) = (peer.descriptor, PlaceClaim(peer.process))
            let new = Served(peer.takeSocket(), client, claim)
            clients[descriptor] = new
            if clients.count > rules.places.most { makeRoom(for: new) }
            if rules.servesAtOnce, clients[descriptor] === new { serve(descriptor) }
        }
    }

    private func makeRoom(for new: Served) {
        let holders = holders
        guard holders.count > rules.places.most else { return }
        let leaving = rules.places.yielding(to: new, among: holders)
        if leaving.isBusy { leaving.giveWay() } else { clients[leaving.socket.number] = nil }
    }

    private func serve(_ descriptor: Int32) {
        guard let served = clients[descriptor] else { return }
        served.begin()
        served.queue.async { [client = served.client] in
            let goesOn = client.serve()
            self.execute { $0.served(descriptor, goesOn) }
        }
    }

    private func served(_ descriptor: Int32, _ goesOn: Bool) {
        if !goesOn || listener == nil || clients[descriptor]?.isEnding == true { return clients[descriptor] = nil }
        clients[descriptor]?.isBusy = false
        // Data that the client sent before it disconnected are still read.
        clients[descriptor]?.hasHungUp = false
    }

    private func stop() {
        listener = nil
        for (descriptor, served) in clients {
            if served.isBusy { served.client.hangUp() } else { clients[descriptor] = nil }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import VaultAgent
internal import VaultLoop

/// The connections of an agent, on the thread of one loop.
actor Connections {
    private nonisolated let loop: SocketLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let server: AgentServer
    /// The listening socket; `nil` when it is closed.
    private var listener: Listener?
    private var sessions: [Int: Session] = [:]
    private var lastNumber = 0
    private let timers = LoopTimers()
    /// The timer after which a resting agent unmaps code that it has used, the start's above all.
    private var codeEnd: Int?

    /// The most connections that wait to be accepted.
    private static let backlog: Int32 = 64
    /// The idle time after which an agent rests.
    private static let idleEnough = Duration.seconds(10)

    /// - Parameter listener: a bound socket. Closed by ``stopListening()``, or if this throws.
    /// - Throws: the error of a system call.
    init(of server: AgentServer, on listener: Int32) throws(Errno) {
        self.listener = try Listener(listener, backlog: Connections.backlog)
        guard let loop = SocketLoop(label: "vault.agent.loop") else { throw .tooManyOpenFiles }
        (self.server, self.loop) = (server, loop)
    }

    /// Serves the socket from now on.
    nonisolated func start() {
        execute { $0.restLater() }
        loop.run { ready in self.assumeIsolated { $0.pump(ready) } }
    }

    /// Accepts no further connections.
    nonisolated func stopListening() { execute { $0.listener = nil } }

    /// Ends all connections. Not for the loop's thread.
    nonisolated func end() {
        execute { connections in
            connections.listener = nil
            for session in connections.sessions.values { session.close() }
        }
        // After everything that was handed over before.
        loop.execute { [loop] in loop.end() }
        loop.waitForEnd()
    }

    /// Runs a closure on the loop's thread.
    nonisolated func execute(_ body: @escaping @Sendable (isolated Connections) -> Void) {
        loop.execute { self.assumeIsolated { body($0) } }
    }

    /// Runs a closure on the loop's thread with every connection.
    nonisolated func forEach(_ body: @escaping @Sendable (Session) -> Void) {
        execute { connections in for session in Array(connections.sessions.values) { body(session) } }
    }

    /// Runs a closure on the loop's thread with a connection, unless the connection has ended.
    nonisolated func execute(_ number: Int, _ body: @escaping @Sendable (Session) -> Void) {
        execute { connections in if let session = connections.sessions[number] { body(session) } }
    }

    // MARK: The loop

    /// - Parameter ready: the events since the last call.
    /// - Returns: the events to wait for.
    private func pump(_ ready: [Int32: SocketLoop.Events]) -> SocketLoop.Wait {
        for (number, session) in sessions {
            if let events = ready[session.descriptor] { session.take(events) }
            if session.isClosed { remove(number) }
        }
        if listener?.isCalled(ready) == true {
            // Clients that connect without end do not keep the others waiting.
            for _ in 0..<Listener.mostAtOnce {
                guard let peer = listener?.accept() else { break }
                accept(peer)
            }
        }
        timers.fire()
        for (number, session) in sessions where session.isClosed { remove(number) }
        var wait = SocketLoop.Wait(patience: timers.rest)
        // The kernel looks in this order: with a call come the ends of all connections that the caller has closed.
        if let connections = listener?.wait { wait.add(connections) }
        for session in sessions.values { wait.descriptors.append((session.descriptor, session.events)) }
        return wait
    }

    private func remove(_ number: Int) {
        guard let session = sessions.removeValue(forKey: number) else { return }
        session.end()
        server.closed(number)
        restLater()
    }

    private func restLater() {
        timers.cancel(&codeEnd)
        codeEnd = timers.start(Connections.idleEnough) { clinux_release_code() }
    }

    // MARK: Clients

    private func accept(_ peer: consuming Listener.Peer) {
        guard fcntl(peer.descriptor, F_SETFL, O_NONBLOCK) == 0, server.settings.allows(peer.user) else { return }
        let process = ClientProcess(id: peer.process, user: peer.user)
        let handle = ProcessHandle(ofPeer: peer.descriptor)
        let here = SessionHandle(connections: self, number: lastNumber + 1)
        guard let session = try? Session(server, here, peer.takeSocket(), process, handle, timers) else { return }
        lastNumber += 1
        sessions[lastNumber] = session
        server.noteOpened()
        session.begin()
        if sessions.values.count(where: { !$0.isClosed }) > AgentServer.places.most { makeRoom(for: session) }
    }

    private func makeRoom(for session: Session) {
        let leaving = AgentServer.places.yielding(to: session, among: sessions.values.filter { !$0.isClosed })
        if leaving === session { session.turnAway() } else { leaving.close() }
    }

    /// The number of watches on all connections of a process.
    func watches(of process: Int32) -> Int {
        sessions.values.filter { $0.process.id == process }.reduce(0) { $0 + $1.watches.count }
    }
}

/// The timers of a loop's thread.
final class LoopTimers {
    private var timers: [Int: (end: SuspendingClock.Instant, body: () -> Void)] = [:]
    private var number = 0

    /// Runs the body once the time has passed.
    ///
    /// - Returns: the number by which ``cancel(_:)`` removes the timer.
    func start(_ patience: Duration, _ body: @escaping () -> Void) -> Int {
        number += 1
        timers[number] = (.now + patience, body)
        return number
    }

    /// Removes a timer, unless it has ended.
    func cancel(_ number: inout Int?) {
        if let number { timers[number] = nil }
        number = nil
    }

    /// The time until the first timer ends; `nil` without one.
    var rest: Duration? { timers.values.map(\.end).min().map { max($0 - .now, .zero) } }

    func fire() {
        let now = SuspendingClock.now
        for (number, timer) in timers.filter({ $0.value.end <= now }).sorted(by: { $0.value.end < $1.value.end }) {
            // An earlier one may have cancelled the timer.
            if timers.removeValue(forKey: number) != nil { timer.body() }
        }
    }
}

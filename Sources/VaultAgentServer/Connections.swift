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
    /// The listening socket; -1 when it is closed.
    private var listener: Int32
    /// No connection is accepted before this time: the process had no free descriptor.
    private var acceptsFrom: SuspendingClock.Instant?
    private var sessions: [Int: Session] = [:]
    private var lastNumber = 0
    private let timers = LoopTimers()
    /// The timer after which a resting agent unmaps code that it has used, the start's above all.
    private var codeEnd: Int?

    /// The most connections that wait to be accepted.
    private static let backlog: Int32 = 64
    /// The idle time after which a connection may be closed in favour of a new one, whose client opens another when
    /// necessary, and after which an agent rests.
    private static let idleEnough = Duration.seconds(10)
    /// The pause after a failure to accept a connection.
    private static let pause = Duration.milliseconds(100)

    /// - Parameter listener: a bound socket, which the value owns if this returns.
    /// - Throws: the error of a system call.
    init(of server: AgentServer, on listener: Int32) throws(Errno) {
        guard let loop = SocketLoop(label: "vault.agent.loop") else { throw .tooManyOpenFiles }
        guard fcntl(listener, F_SETFL, O_NONBLOCK) == 0, listen(listener, Connections.backlog) == 0 else {
            throw Errno(rawValue: errno)
        }
        (self.server, self.listener, self.loop) = (server, listener, loop)
    }

    /// Serves the socket from now on.
    nonisolated func start() {
        execute { $0.restLater() }
        loop.run { ready in self.assumeIsolated { $0.pump(ready) } }
    }

    /// Accepts no further connections.
    nonisolated func stopListening() { execute { $0.closeListener() } }

    /// Ends all connections. Not for the loop's thread.
    nonisolated func end() {
        execute { connections in
            connections.closeListener()
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
        if ready[listener] != nil { acceptAll() }
        timers.fire()
        for (number, session) in sessions where session.isClosed { remove(number) }
        var wait = SocketLoop.Wait(patience: timers.rest)
        for session in sessions.values { wait.descriptors.append((session.descriptor, session.events)) }
        if let from = acceptsFrom, from > .now {
            wait.patience = min(wait.patience ?? Connections.pause, Connections.pause)
        } else if listener >= 0 {
            wait.descriptors.append((listener, .reading))
        }
        return wait
    }

    private func closeListener() {
        if listener >= 0 { close(listener) }
        listener = -1
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

    private func acceptAll() {
        while listener >= 0 {
            let client = clinux_accept(listener, 0)
            if client >= 0 {
                accept(Int32(client))
            } else if -client != ECONNABORTED, -client != EINTR {
                // Without a free descriptor the client stays in the backlog, and its event would come again at once.
                if -client != EAGAIN { acceptsFrom = .now + Connections.pause }
                return
            }
        }
    }

    private func accept(_ client: Int32) {
        // The peer's process and user at the time of the connection.
        var (process, user): (Int32, UInt32) = (0, 0)
        guard fcntl(client, F_SETFL, O_NONBLOCK) == 0, unsafe clinux_peer(client, &process, &user) == 0,
            server.settings.allows(user),
            let session = try? Session(
                server, SessionHandle(connections: self, number: lastNumber + 1), client,
                ClientProcess(id: process, user: user), ProcessHandle(ofPeer: client), timers)
        else {
            close(client)
            return
        }
        lastNumber += 1
        sessions[lastNumber] = session
        server.noteOpened()
        session.begin()
        if sessions.values.count(where: { !$0.isClosed }) > AgentServer.mostClients { makeRoom(for: session) }
    }

    private func makeRoom(for session: Session) {
        let others = sessions.values.filter { $0 !== session && !$0.isClosed }
        // A client greets at once, so a connection without a greeting waits for nothing. A client without rights has
        // had its answer. A flood of greetings that are still inspected belongs to few processes: the one with the
        // most connections gives way, so a flood closes nobody else's.
        let unknown =
            Dictionary(grouping: others.filter(\.isDispensable), by: \.process.id)
            .values.max { $0.count < $1.count } ?? []
        let idle = others.filter { $0.isIdle && .now - $0.lastUse > Connections.idleEnough }
        // An idle client opens another connection when necessary; the end of a watching one is reported to its reader.
        let resting = idle.filter { !$0.isWatching }
        let dispensable = [unknown, resting, idle].first { !$0.isEmpty } ?? []
        if let oldest = dispensable.min(by: { $0.lastUse < $1.lastUse }) {
            oldest.close()
        } else {
            session.turnAway()
        }
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

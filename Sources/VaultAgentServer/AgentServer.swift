// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization
public import Vault
internal import VaultAgent
internal import VaultStorage

/// An unlocked vault behind a socket. The keys never leave this process; clients receive items.
public final class AgentServer: Sendable {
    let settings: AgentSettings
    let answers: Answers
    let turns: Turns
    let questions: Questions
    let pool = NIOThreadPool(numberOfThreads: 8)
    let remoteWork = RemoteWork()
    let unlocking = DispatchQueue(label: "unlocking")
    private let keeper: VaultKeeper
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let state: Mutex<State>

    /// The most connections at once.
    public static let mostClients = 64
    /// The idle time after which a connection may be closed in favour of a new one. Its client opens another when
    /// necessary.
    private static let idleEnough = TimeAmount.seconds(10)

    private struct State {
        var policy: AccessPolicy
        var listener: (any Channel)?
        var sessions: [ObjectIdentifier: NIOLoopBound<(session: Session, context: ChannelHandlerContext)>] = [:]
        /// The size of all sessions' incomplete stores, in bytes.
        var staged = 0
        var events: SystemEvents?
    }

    /// - Throws: an error for an invalid policy.
    public init(_ settings: AgentSettings) throws(PolicyError) {
        self.settings = settings
        let keeper = VaultKeeper(settings)
        self.keeper = keeper
        let clock = settings.environment.clock
        let policy = try AccessPolicy(settings.policy)
        settings.report(missing: policy.missingExecutables)
        questions = Questions(clock: settings.clock)
        state = Mutex(State(policy: policy))
        answers = Answers(
            keeper: keeper,
            audit: settings.auditDirectory.map { AuditLog(in: $0) { Date(timeIntervalSinceReferenceDate: clock.now) } },
            questions: questions, auditDirectory: settings.auditDirectory ?? settings.environment.stateDirectory)
        turns = Turns { keeper.lockState != .unlocked }
    }

    // MARK: Life

    /// Unlocks the vault before a client requests it.
    public func unlock(with secret: UnlockingSecret) throws(VaultError) {
        let reply = answers.answer(
            UnlockRequest(secret), of: Caller(process: .own, access: .full, groups: ["*"], purpose: .reveal))
        if let failure = reply.first as? FailureReply { throw failure.value }
    }

    /// Starts to listen. Clients can connect on return.
    ///
    /// - Parameters:
    ///   - descriptor: a bound socket, which the server owns from now on.
    ///   - location: the place of the socket, whose removal ends the agent; `nil` disables the check.
    public func start(on descriptor: Int32, at location: AgentSocket.Location? = nil) throws {
        pool.start()
        remoteWork.start()
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in self.accept(channel) }
        let listener = try bootstrap.withBoundSocket(descriptor).wait()
        state.withLock { $0.listener = listener }
        keeper.willUnlock.withLock { $0 = { [weak self] in self?.reloadIfOutdated() } }
        keeper.didLock.withLock { $0 = { [weak self] isByItself in self?.locked(isByItself) } }
        watch(location)
        follow()
        let events = SystemEvents(report: settings.report) { [weak self] in self?.lock() }
        state.withLock { $0.events = events }
    }

    /// Starts the automatic syncs.
    private func follow() {
        guard settings.syncs else { return }
        keeper.follow { [audit = answers.audit] items in
            // Recorded as an action of the agent itself.
            try? audit?.note(.sync, count: items, by: Caller(process: .own, access: .full, groups: [], purpose: .use))
        }
    }

    /// Locks at once.
    public func lock() { keeper.lock(isByItself: true) }

    private func locked(_ isByItself: Bool) {
        let sessions = state.withLock { Array($0.sessions.values) }
        for session in sessions { group.next().execute { session.value.session.dropStaged() } }
        if isByItself { noteLock() }
    }

    var staged: Int { state.withLock { $0.staged } }

    func noteStaged(_ bytes: Int) { state.withLock { $0.staged += bytes } }

    /// Records a lock that no client has requested.
    private func noteLock() {
        try? answers.audit?.note(.lock, by: Caller(process: .own, access: .full, groups: [], purpose: .use))
    }

    /// Reloads a changed policy before an unlock.
    private func reloadIfOutdated() {
        let policy = state.withLock { $0.policy }
        if policy.isOutdated(settings.policy) { reload() }
    }

    /// Reads the policy again. An invalid one changes nothing.
    public func reload() {
        do throws(PolicyError) {
            let policy = try AccessPolicy(settings.policy, mustExist: !state.withLock { $0.policy.isEmpty })
            settings.report(missing: policy.missingExecutables)
            let sessions = state.withLock { state in
                state.policy = policy
                return Array(state.sessions.values)
            }
            // Clients that were admitted by the old rules have to reconnect under the new ones.
            for session in sessions {
                group.next().execute { session.value.session.closeWhenDone(session.value.context) }
            }
        } catch {
            settings.report("the rules are as they were: \(error.text)")
        }
    }

    /// Stops to accept requests, wipes the keys and closes the vault in order.
    public func stop() {
        let listener = state.withLock { state in
            state.events = nil
            return state.listener
        }
        try? listener?.close().wait()
        keeper.end()
        keeper.stopFollowing()
        remoteWork.end(patience: VaultKeeper.patienceForRemote)
        // Pending requests are answered first.
        try? pool.syncShutdownGracefully()
        keeper.close()
        try? group.syncShutdownGracefully()
    }

    /// Locks periodically if a limit is reached. Requests check the limits themselves, so the frequency does not
    /// matter.
    private func watch(_ location: AgentSocket.Location?) {
        let pause = AgentServer.pause(keeper.lockIfDue())
        if location?.isTaken == false { settings.stop() }
        group.next().scheduleTask(in: pause) { [pool] in
            pool.submit { [weak self] state in if case .active = state { self?.watch(location) } }
        }
    }

    private static func pause(_ left: Duration?) -> TimeAmount {
        .nanoseconds(Int64(min(max((left ?? .seconds(10)) / .nanoseconds(1), 1e7), 1e10)))
    }

    // MARK: Clients

    private func accept(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(VaultError.agent(.refused))
        }
        // SO_PEERCRED: the peer's process and user at the time of the connection.
        let peer: EventLoopFuture<PeerCredentials> = options.unsafeGetSocketOption(
            level: .socket, name: .init(rawValue: 17))
        return peer.flatMap { peer in
            guard self.settings.allows(peer.user) else { return channel.close() }
            // SO_PEERPIDFD, since Linux 6.5.
            let handle: EventLoopFuture<Int32> = options.unsafeGetSocketOption(
                level: .socket, name: .init(rawValue: 77))
            return handle.map { ProcessHandle($0) }
                .recover { ($0 as? IOError)?.errnoCode == ENOPROTOOPT ? .unheld : .ended }
                .flatMapThrowing { handle in
                    let process = ClientProcess(id: peer.process, user: peer.user)
                    try channel.pipeline.syncOperations.addHandler(try Session(self, process, handle))
                }
        }
    }

    /// Whether the policy or the log needs information about clients.
    private var knowsItsClients: Bool { answers.audit != nil || state.withLock { !$0.policy.isEmpty } }

    /// Inspects a client, if the policy or the log requires it.
    ///
    /// - Parameter hears: called once, immediately or on another thread.
    func look(at process: ClientProcess, _ handle: ProcessHandle, hears: @escaping @Sendable (ClientProcess) -> Void) {
        knowsItsClients ? process.look(handle, hears: hears) : hears(process)
    }

    /// - Parameter door: the connected process, if it speaks for `process`.
    func caller(
        _ process: ClientProcess, through door: ClientProcess? = nil, groups: AccessGroups?, isNamed: Bool,
        _ purpose: AgentClient.Purpose
    ) -> Caller {
        let rights = state.withLock { $0.policy.rights(of: process, through: door) }
        let named = isNamed ? groups : nil
        return Caller(
            process: process, door: door, access: rights.access,
            groups: rights.groups.map { named?.limited(to: $0) ?? $0 } ?? groups ?? .standard,
            confinement: rights.groups,
            purpose: purpose)
    }

    func opened(_ session: Session, _ context: ChannelHandlerContext) {
        let here = NIOLoopBound((session: session, context: context), eventLoop: context.eventLoop)
        let others = state.withLock { state in
            state.sessions[ObjectIdentifier(session)] = here
            return state.sessions.count > AgentServer.mostClients ? state.sessions.map(\.value) : []
        }
        guard !others.isEmpty else { return }
        let all = others.map(\.value)
        // A client greets at once, so a connection without a greeting waits for nothing. A client without rights has
        // had its answer.
        let unknown = all.filter { $0.session !== session && $0.session.isDispensable }
        let idle = all.filter { $0.session.isIdle && .now() - $0.session.lastUse > AgentServer.idleEnough }
        // An idle client opens another connection when necessary; the end of a watching one is reported to its reader.
        let resting = idle.filter { !$0.session.isWatching }
        let dispensable = [unknown, resting, idle].first { !$0.isEmpty } ?? []
        if let oldest = dispensable.min(by: { $0.session.lastUse < $1.session.lastUse }) {
            oldest.session.close(oldest.context)
        } else {
            session.turnAway(context)
        }
    }

    /// Returns the number of watches on all connections of a process.
    func watches(of process: Int32) -> Int {
        state.withLock { Array($0.sessions.values) }.map(\.value.session).filter { $0.process.id == process }
            .reduce(0) { $0 + $1.watches.count }
    }

    func closed(_ session: Session) {
        _ = state.withLock { $0.sessions.removeValue(forKey: ObjectIdentifier(session)) }
        turns.leave(ObjectIdentifier(session))
        questions.withdraw(for: ObjectIdentifier(session))
        questions.remove(door: ObjectIdentifier(session))
    }

    /// Makes a door's question about a client that requires a person.
    func question(from caller: Caller, reason: String) -> PersonQuestion {
        // Without rules and a log, the client was not inspected before.
        let program = caller.process.program ?? ProcessTable.executable(of: caller.process.id) ?? ""
        return PersonQuestion(
            QuestionID.random(settings.environment.random), process: caller.process.id,
            program: program.split(separator: "/").last.map(String.init) ?? "", reason: reason)
    }

    /// Notes a correct passphrase, which may have unlocked the vault.
    func noteProof() { if keeper.lockState == .unlocked { turns.end() } }

    func status(for caller: Caller) -> AgentStatus {
        let (clients, hasRules) = state.withLock { (UInt32($0.sessions.count), !$0.policy.isEmpty) }
        return AgentStatus(
            state: keeper.lockState, processID: UInt32(ProcessInfo.processInfo.processIdentifier),
            version: settings.version,
            vault: settings.vault.string, idleLimit: keeper.idleLimit.wholeSeconds,
            maximum: settings.maximum.wholeSeconds,
            locksIn: keeper.locksIn, access: caller.access, groups: caller.confinement?.list, hasRules: hasRules,
            isAuditing: answers.audit != nil, clients: clients, asksPeople: questions.canAsk)
    }
}

/// `struct ucred`.
private struct PeerCredentials: Sendable {
    var process: Int32
    var user: UInt32
    var group: UInt32
}

extension AgentSettings {
    fileprivate func report(missing executables: [String]) {
        for executable in executables {
            report("a rule of the policy names the program '\(executable)', which is not there")
        }
    }

    /// Whether processes of a user are served.
    func allows(_ user: UInt32) -> Bool { user == geteuid() || user == 0 && allowsRoot }
}

extension AgentSettings {
    /// Whether a client means this vault. The file, and the links on its path, may be newer than the agent.
    func isVault(_ path: String) -> Bool {
        path == vault.string || path == (try? LinuxFileSystem().resolve(vault))?.string
    }
}

extension Duration {
    fileprivate var wholeSeconds: UInt32 { UInt32(clamping: components.seconds) }
}

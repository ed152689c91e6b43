// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
package import Vault
internal import VaultAgent
internal import VaultLoop
internal import VaultStorage

/// An unlocked vault behind a socket. The keys never leave this process; clients receive items.
package final class AgentServer: Sendable {
    let settings: AgentSettings
    let answers: Answers
    let turns: Turns
    let questions: Questions
    let pool = WorkPool(threads: 8)
    /// For requests that may wait for a remote. A remote that hangs occupies none of the other threads, and does not
    /// delay the agent's end.
    let remotePool = WorkPool(threads: 4)
    let unlocking = DispatchQueue(label: "unlocking")
    private let keeper: VaultKeeper
    private let timer = DispatchQueue(label: "vault.agent.timer")
    private let state: Mutex<State>

    /// The most connections at once.
    package static let mostClients = 64
    static let places = Places(
        most: mostClients, Places.Processes(age: ProcessTable.age(of:), unit: ProcessTable.unit(of:)))

    private struct State {
        var policy: AccessPolicy
        var connections: Connections?
        /// The number of connections.
        var clients = 0
        /// The size of all sessions' incomplete stores, in bytes.
        var staged = 0
        var events: SystemEvents?
    }

    /// - Throws: an error for an invalid policy.
    package init(_ settings: AgentSettings) throws(PolicyError) {
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
    package func unlock(with secret: UnlockingSecret) throws(VaultError) {
        let reply = answers.answer(
            UnlockRequest(secret), of: Caller(process: .own, access: .full, groups: ["*"], purpose: .reveal))
        if let failure = reply.first as? FailureReply { throw failure.value }
    }

    /// Starts to listen. Clients can connect on return.
    ///
    /// - Parameters:
    ///   - descriptor: a bound socket, which the server owns from now on.
    ///   - location: the place of the socket, whose removal ends the agent; `nil` disables the check.
    package func start(on descriptor: Int32, at location: AgentSocket.Location? = nil) throws {
        let connections = try Connections(of: self, on: descriptor)
        connections.start()
        state.withLock { $0.connections = connections }
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
            audit?.noteDone(.sync, count: items, by: .agent)
        }
    }

    /// Locks at once.
    package func lock() { keeper.lock(isByItself: true) }

    private func locked(_ isByItself: Bool) {
        state.withLock(\.connections)?.forEach { $0.dropStaged() }
        // A lock that no client has requested.
        if isByItself { answers.audit?.noteDone(.lock, by: .agent) }
    }

    var staged: Int { state.withLock { $0.staged } }

    func noteStaged(_ bytes: Int) { state.withLock { $0.staged += bytes } }

    /// Reloads a changed policy before an unlock.
    private func reloadIfOutdated() {
        let policy = state.withLock { $0.policy }
        if policy.isOutdated(settings.policy) { reload() }
    }

    /// Reads the policy again. An invalid one changes nothing.
    package func reload() {
        do throws(PolicyError) {
            let policy = try AccessPolicy(settings.policy, mustExist: !state.withLock { $0.policy.isEmpty })
            settings.report(missing: policy.missingExecutables)
            let connections = state.withLock { state in
                state.policy = policy
                return state.connections
            }
            // Clients that were admitted by the old rules have to reconnect under the new ones.
            connections?.forEach { $0.closeWhenDone() }
        } catch { settings.report("the rules are as they were: \(error.text)") }
    }

    /// Stops to accept requests, wipes the keys and closes the vault in order.
    package func stop() {
        let connections = state.withLock { state in
            state.events = nil
            return state.connections.take()
        }
        connections?.stopListening()
        keeper.end()
        keeper.stopFollowing()
        remotePool.end(patience: VaultKeeper.patienceForRemote)
        // Requests that are being carried out are answered first.
        pool.end()
        answers.audit?.flush(all: true)
        keeper.close()
        connections?.end()
    }

    /// Locks periodically if a limit is reached. Requests check the limits themselves, so the frequency does not
    /// matter.
    private func watch(_ location: AgentSocket.Location?) {
        let pause = AgentServer.pause(keeper.lockIfDue())
        answers.audit?.flush()
        if location?.isTaken == false { settings.stop() }
        timer.asyncAfter(deadline: .now() + .nanoseconds(pause)) { [weak self] in
            self?.pool.run { [weak self] in self?.watch(location) }
        }
    }

    /// In nanoseconds.
    private static func pause(_ left: Duration?) -> Int {
        Int(min(max((left ?? .seconds(10)) / .nanoseconds(1), 1e7), 1e10))
    }

    // MARK: Clients

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

    func noteOpened() { state.withLock { $0.clients += 1 } }

    /// Frees everything of a connection that has ended.
    func closed(_ client: Int) {
        state.withLock { $0.clients -= 1 }
        turns.leave(client)
        questions.withdraw(for: client)
        questions.remove(door: client)
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
        let (clients, hasRules) = state.withLock { (UInt32($0.clients), !$0.policy.isEmpty) }
        return AgentStatus(
            state: keeper.lockState, processID: UInt32(ProcessInfo.processInfo.processIdentifier),
            version: settings.version,
            vault: settings.vault.string, idleLimit: keeper.idleLimit.wholeSeconds,
            maximum: settings.maximum.wholeSeconds,
            locksIn: keeper.locksIn, access: caller.access, groups: caller.confinement?.list, hasRules: hasRules,
            isAuditing: answers.audit != nil, clients: clients, asksPeople: questions.canAsk)
    }
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

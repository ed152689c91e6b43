// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultFleet
internal import VaultSync

// All requests of the agent, with their permissions and their execution.

enum ServedRequests {
    static let all: [any ServedRequest.Type] = [
        HelloRequest.self, StatusRequest.self, TurnRequest.self, UnlockRequest.self, LockRequest.self, AddRequest.self,
        SetRequest.self, ReplaceRequest.self, CopyMatchingRequest.self, UpdateRequest.self, DeleteRequest.self,
        StoreRequest.self,
        SecretRequest.self, CompactRequest.self, VerifyRequest.self, AuditRequest.self, StopRequest.self,
        VersionsRequest.self, UndoRequest.self, RestoreRequest.self, ForgetRequest.self, DeviceIdentifierRequest.self,
        LockedCountRequest.self, IdleLimitRequest.self, ProgramHelloRequest.self, WatchRequest.self,
        SequenceRequest.self, SyncRequest.self, BehalfHelloRequest.self,
        AuthenticateRequest.self, PresentRequest.self, QuestionsRequest.self, AnswerRequest.self,
        HistoryLimitRequest.self, PurgeHistoryRequest.self, FleetRequest.self, HasConflictRequest.self,
        DeletedItemsLimitRequest.self, UnwatchRequest.self, FollowingRequest.self, AddRemoteRequest.self,
        RemoveRemoteRequest.self, AskingDeviceRequest.self, ApproveRequest.self,
        ConflictsRequest.self, ResolveConflictRequest.self, DeviceSecretsRequest.self, RemoveDeviceRequest.self,
        ResolveRosterRequest.self, FoundRequest.self, RecoverRequest.self, AskToJoinRequest.self,
        AnswerToJoinRequest.self, CheckRemotesRequest.self, RenewCodeRequest.self, RefusalRequest.self,
    ]

    private static let byKind = Dictionary(all.map { ($0.kind, $0) }) { first, _ in first }

    /// - Throws: an error for anything but a client's request.
    static func request(_ frame: Frame) throws(MessageError) -> any ServedRequest {
        guard let type = byKind[frame.kind] else { throw .invalid }
        return try type.init(frame)
    }
}

// MARK: Requests that the session answers itself

extension HelloRequest: OpenRequest {}
extension ProgramHelloRequest: OpenRequest {}
extension BehalfHelloRequest: OpenRequest {}
extension StatusRequest: OpenRequest {}
extension TurnRequest: KnownRequest {}

extension StopRequest: WholeRequest {}

/// Changes reveal which items there are, like a query that opens nothing.
extension WatchRequest: KnownRequest {}
extension UnwatchRequest: KnownRequest {}

// MARK: Locking

extension UnlockRequest: KnownRequest, VaultRequest {
    static let lane = Lane.keys

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        try answers.unlock(with: secret, for: caller)
        return [DoneReply()]
    }
}

extension LockRequest: KnownRequest, VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        answers.keeper.lock()
        answers.audit?.noteDone(.lock, by: caller)
        return [DoneReply()]
    }
}

/// The programs of a single group may not decide how long the vault stays open.
extension IdleLimitRequest: WholeRequest, VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        answers.keeper.setIdleLimit(.seconds(Int64(value)))
        return [DoneReply()]
    }
}

// MARK: The verbs

extension AddRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [ItemsReply] {
        try answers.change(.add, caller) { vault throws(VaultError) in try vault.add(value) }
    }
}

extension SetRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [ItemsReply] {
        try answers.change(.set, caller) { vault throws(VaultError) in try vault.set(value) }
    }
}

extension ReplaceRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [ItemsReply] {
        try answers.change(.set, caller) { vault throws(VaultError) in
            try vault.replace(item, sameAs: attributes).item
        }
    }
}

extension CopyMatchingRequest: VaultRequest {
    /// Secrets to be shown are only for clients with full access.
    func isPermitted(to caller: Caller) -> Bool {
        switch caller.access {
        case .full: true
        case .injectOnly: !value.returnsSecrets || caller.purpose == .use
        case .none: false
        }
    }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [ItemsReply] {
        answers.keeper.lockIfDue()
        let items = try answers.keeper.searchAtOnce(caller.groups) { vault throws(VaultError) in
            try caller.view(of: vault).copyMatching(value)
        }
        return try answers.found(items, value, caller)
    }

    func repliesAtOnce(to caller: Caller, from answers: Answers) throws(VaultError) -> [ItemsReply]? {
        guard !answers.keeper.isLockDue else { return nil }
        let items = try answers.keeper.searchAtOnce(caller.groups) { vault throws(VaultError) in
            try caller.view(of: vault).copyMatchingAtOnce(value)
        }
        guard let items else { return nil }
        return try answers.found(items, value, caller)
    }
}

extension SecretRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { Self.isPermitted(to: caller) }

    static func isPermitted(to caller: Caller) -> Bool {
        switch caller.access {
        case .full: true
        case .injectOnly: caller.purpose == .use
        case .none: false
        }
    }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SecretReply] {
        let secret = try answers.use(caller) { vault throws(VaultError) in try vault.secret(of: item, field: field) }
        try answers.audit?.note(caller.verbForSecrets, item.id, by: caller)
        return [SecretReply(secret)]
    }
}

extension RefusalRequest: PlainRequest {
    /// Only a client that may have the secret can have offered it to a server.
    func isPermitted(to caller: Caller) -> Bool { SecretRequest.isPermitted(to: caller) }

    func reply(from vault: Vault) throws(VaultError) -> CountReply {
        guard isNew else { return CountReply(try vault.isRefused(item) ? 1 : 0) }
        try vault.noteRefusal(of: item)
        return CountReply(1)
    }
}

extension UpdateRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        try answers.change(matching: query, .update, caller) { (transaction: inout Transaction) throws(VaultError) in
            try transaction.update(matching: query, with: changes)
        }
    }
}

extension DeleteRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        try answers.change(matching: value, .delete, caller) { (transaction: inout Transaction) throws(VaultError) in
            try transaction.delete(matching: value)
        }
    }
}

/// The session has joined the parts before.
extension StoreRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        var removed: [UUID] = []
        try answers.use(caller) { vault throws(VaultError) in
            try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
                for query in deleted {
                    if answers.audit != nil {
                        removed += (try? transaction.identifiers(of: .delete, matching: query)) ?? []
                    }
                    try transaction.deleteAll(query)
                }
                for item in items { _ = replacing ? try transaction.set(item) : try transaction.add(item) }
            }
        }
        try answers.afterwards { audit throws(VaultError) in
            if !removed.isEmpty { try audit.note(.delete, removed, by: caller) }
            if !items.isEmpty || deleted.isEmpty { try audit.note(.import, count: items.count, by: caller) }
        }
        return [DoneReply()]
    }
}

extension LockedCountRequest: KnownRequest, PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> CountReply {
        CountReply(try vault.lockedCount(matching: value))
    }
}

extension SequenceRequest: KnownRequest, PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> CountReply { CountReply(Int(clamping: try vault.sequence)) }
}

// MARK: Older versions

extension VersionsRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [ItemsReply] {
        let versions = try answers.use(caller) { vault throws(VaultError) in
            try deleted ? vault.deletedItems(matching: query) : vault.versions(matching: query)
        }
        return try answers.found(versions.map(\.item), query, caller)
    }
}

extension UndoRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [ItemsReply] {
        try answers.change(.update, caller) { vault throws(VaultError) in try vault.undo(key, to: version) }
    }
}

extension RestoreRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [ItemsReply] {
        try answers.change(.update, caller) { vault throws(VaultError) in try vault.restoreItem(value) }
    }
}

extension ForgetRequest: PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> CountReply { CountReply(try vault.forget(accessGroup: value)) }

    func line(_ reply: CountReply) -> (verb: AuditLog.Verb, count: Int)? { (.forget, Int(clamping: reply.count)) }
}

/// The programs of a single group may not decide the history of every item.
extension HistoryLimitRequest: WholeRequest, PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> CountReply {
        if let value { try vault.setHistoryLimit(Int(value)) }
        return CountReply(try vault.historyLimit)
    }

    func line(_ reply: CountReply) -> (verb: AuditLog.Verb, count: Int)? { value.map { _ in (.set, 1) } }
}

extension DeletedItemsLimitRequest: WholeRequest, PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> CountReply {
        if let value { try vault.setDeletedItemsLimit(value == 0 ? nil : Int(value)) }
        return CountReply(try vault.deletedItemsLimit ?? 0)
    }

    func line(_ reply: CountReply) -> (verb: AuditLog.Verb, count: Int)? { value.map { _ in (.set, 1) } }
}

extension PurgeHistoryRequest: PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> CountReply {
        CountReply(try vault.purgeHistory(matching: queries, onlyDeleted: onlyDeleted))
    }

    func line(_ reply: CountReply) -> (verb: AuditLog.Verb, count: Int)? { (.forget, Int(clamping: reply.count)) }
}

// MARK: The device and the file

extension DeviceIdentifierRequest: PlainRequest {
    /// All programs of the device share one identifier of a name.
    func isPermitted(to caller: Caller) -> Bool { reset ? caller.isWhole : caller.access == .full }

    func reply(from vault: Vault) throws(VaultError) -> IdentifierReply {
        IdentifierReply(
            try reset
                ? vault.resetDeviceIdentifier(for: name, thisDeviceOnly: thisDeviceOnly)
                : vault.deviceIdentifier(for: name, thisDeviceOnly: thisDeviceOnly))
    }

    func line(_ reply: IdentifierReply) -> (verb: AuditLog.Verb, count: Int)? { (reset ? .set : .use, 1) }
}

extension CompactRequest: WholeRequest, PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> DoneReply {
        try vault.compact()
        return DoneReply()
    }
}

/// The result counts the items of all groups.
extension VerifyRequest: WholeRequest, PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> VerificationReply {
        VerificationReply(try vault.verify(deep: deep))
    }
}

/// The result counts the actions of all programs.
extension AuditRequest: WholeRequest, VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [AuditReply] {
        guard let directory = answers.auditDirectory else { throw .unimplemented }
        let (entries, firstChanged) = try answers.use(caller) { vault throws(VaultError) in
            try AuditLog.check(with: vault, in: directory)
        }
        return [AuditReply(entries: entries, firstChanged: firstChanged)]
    }
}

// MARK: Many devices

/// Other devices receive the items of every group.
extension SyncRequest: WholeRequest, VaultRequest {
    static let lane = Lane.remotes

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        let result = try answers.keeper.sync(withFingerprint: withFingerprint)
        try answers.afterwards { audit throws(VaultError) in
            try audit.note(.sync, count: result.outcomes.reduce(0) { $0 + $1.report.items }, by: caller)
        }
        return SyncReply.parts(of: result)
    }
}

extension FleetRequest: WholeRequest, VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        let look = try answers.use(caller) { vault throws(VaultError) in
            let look = FleetLook(of: vault, environment: answers.keeper.settings.environment)
            if case .vault(let error)? = look.failure { throw error }
            return look
        }
        return SyncReply.parts(of: look)
    }
}

extension FollowingRequest: WholeRequest, VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        SyncReply.parts(of: answers.keeper.following)
    }
}

extension HasConflictRequest: PlainRequest {
    func reply(from vault: Vault) throws(VaultError) -> CountReply { CountReply(try vault.hasConflict(value) ? 1 : 0) }
}

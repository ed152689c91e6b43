// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
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

extension HelloRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { true }
}

extension ProgramHelloRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { true }
}

extension BehalfHelloRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { true }
}

extension StatusRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { true }
}

extension TurnRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access != .none }
}

extension StopRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }
}

/// Changes reveal which items there are, like a query that opens nothing.
extension WatchRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access != .none }
}

extension UnwatchRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access != .none }
}

// MARK: Locking

extension UnlockRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access != .none }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        try answers.unlock(with: secret, for: caller)
        return [DoneReply()]
    }
}

extension LockRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access != .none }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        answers.keeper.lock()
        answers.audit?.noteDone(.lock, by: caller)
        return [DoneReply()]
    }
}

extension IdleLimitRequest: VaultRequest {
    /// The programs of a single group may not decide how long the vault stays open.
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

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
        let items = try answers.keeper.search(caller.groups) { vault throws(VaultError) in
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

extension RefusalRequest: VaultRequest {
    /// Only a client that may have the secret can have offered it to a server.
    func isPermitted(to caller: Caller) -> Bool { SecretRequest.isPermitted(to: caller) }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        let isRefused = try answers.use(caller) { vault throws(VaultError) in
            guard isNew else { return try vault.isRefused(item) }
            try vault.noteRefusal(of: item)
            return true
        }
        return [CountReply(isRefused ? 1 : 0)]
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

extension LockedCountRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access != .none }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        [CountReply(try answers.use(caller) { vault throws(VaultError) in try vault.lockedCount(matching: value) })]
    }
}

extension SequenceRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.access != .none }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        [CountReply(Int(clamping: try answers.use(caller) { vault throws(VaultError) in try vault.sequence }))]
    }
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

extension ForgetRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        let count = try answers.use(caller) { vault throws(VaultError) in try vault.forget(accessGroup: value) }
        try answers.afterwards { audit throws(VaultError) in try audit.note(.forget, count: count, by: caller) }
        return [CountReply(count)]
    }
}

extension HistoryLimitRequest: VaultRequest {
    /// The programs of a single group may not decide the history of every item.
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        let limit = try answers.use(caller) { vault throws(VaultError) in
            if let value { try vault.setHistoryLimit(Int(value)) }
            return try vault.historyLimit
        }
        if value != nil {
            try answers.afterwards { audit throws(VaultError) in try audit.note(.set, count: 1, by: caller) }
        }
        return [CountReply(limit)]
    }
}

extension DeletedItemsLimitRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        let days = try answers.use(caller) { vault throws(VaultError) in
            if let value { try vault.setDeletedItemsLimit(value == 0 ? nil : Int(value)) }
            return try vault.deletedItemsLimit ?? 0
        }
        if value != nil {
            try answers.afterwards { audit throws(VaultError) in try audit.note(.set, count: 1, by: caller) }
        }
        return [CountReply(days)]
    }
}

extension PurgeHistoryRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        let count = try answers.use(caller) { vault throws(VaultError) in
            try vault.purgeHistory(matching: queries, onlyDeleted: onlyDeleted)
        }
        try answers.afterwards { audit throws(VaultError) in try audit.note(.forget, count: count, by: caller) }
        return [CountReply(count)]
    }
}

// MARK: The device and the file

extension DeviceIdentifierRequest: VaultRequest {
    /// All programs of the device share one identifier of a name.
    func isPermitted(to caller: Caller) -> Bool { reset ? caller.isWhole : caller.access == .full }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [IdentifierReply] {
        let identifier = try answers.use(caller) { vault throws(VaultError) in
            try reset
                ? vault.resetDeviceIdentifier(for: name, thisDeviceOnly: thisDeviceOnly)
                : vault.deviceIdentifier(for: name, thisDeviceOnly: thisDeviceOnly)
        }
        try answers.afterwards { audit throws(VaultError) in
            try audit.note(reset ? .set : .use, count: 1, by: caller)
        }
        return [IdentifierReply(identifier)]
    }
}

extension CompactRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        try answers.use(caller) { vault throws(VaultError) in try vault.compact() }
        return [DoneReply()]
    }
}

extension VerifyRequest: VaultRequest {
    /// The result counts the items of all groups.
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [VerificationReply] {
        [VerificationReply(try answers.use(caller) { vault throws(VaultError) in try vault.verify(deep: deep) })]
    }
}

extension AuditRequest: VaultRequest {
    /// The result counts the actions of all programs.
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [AuditReply] {
        guard let directory = answers.auditDirectory else { throw .unimplemented }
        let (entries, firstChanged) = try answers.use(caller) { vault throws(VaultError) in
            try AuditLog.check(with: vault, in: directory)
        }
        return [AuditReply(entries: entries, firstChanged: firstChanged)]
    }
}

// MARK: Many devices

extension SyncRequest: RemoteRequest {
    /// Other devices receive the items of every group.
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        let result = try answers.keeper.sync(withFingerprint: withFingerprint)
        try answers.afterwards { audit throws(VaultError) in
            try audit.note(.sync, count: result.outcomes.reduce(0) { $0 + $1.report.items }, by: caller)
        }
        return SyncReply.parts(of: result)
    }
}

extension FleetRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        let look = try answers.use(caller) { vault throws(VaultError) in
            let look = FleetLook(of: vault, environment: answers.keeper.settings.environment)
            if case .vault(let error)? = look.failure { throw error }
            return look
        }
        return SyncReply.parts(of: look)
    }
}

extension FollowingRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        SyncReply.parts(of: answers.keeper.following)
    }
}

extension HasConflictRequest: VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [CountReply] {
        let hasConflict = try answers.use(caller) { vault throws(VaultError) in try vault.hasConflict(value) }
        return [CountReply(hasConflict ? 1 : 0)]
    }
}

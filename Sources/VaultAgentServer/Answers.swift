// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultAgent

/// What the agent does with a request.
struct Answers: Sendable {
    let keeper: VaultKeeper
    let audit: AuditLog?
    let questions: Questions
    /// Where the log is, or was before this agent began.
    let auditDirectory: FilePath?

    func answer(_ request: some VaultRequest, of caller: Caller) -> [any AgentReply] {
        do throws(VaultError) {
            try caller.check(request)
            return try request.replies(to: caller, from: self)
        } catch {
            audit?.noteRefusal(of: caller, error)
            return [FailureReply(error)]
        }
    }

    /// As ``answer(_:of:)``; nil: the answer would have to wait for another thread.
    func answerAtOnce(_ request: some VaultRequest, of caller: Caller) -> [any AgentReply]? {
        do throws(VaultError) {
            try caller.check(request)
            return try request.repliesAtOnce(to: caller, from: self)
        } catch {
            audit?.noteRefusal(of: caller, error)
            return [FailureReply(error)]
        }
    }

    // MARK: What several requests have in common

    func use<R>(_ caller: Caller, _ body: (Vault) throws(VaultError) -> R) throws(VaultError) -> R {
        try keeper.use(caller.groups) { vault throws(VaultError) in try body(caller.view(of: vault)) }
    }

    func found(_ items: [Item], _ query: Query, _ caller: Caller) throws(VaultError) -> [ItemsReply] {
        try audit?.note(query.returnsSecrets ? caller.verbForSecrets : .find, items, by: caller)
        return ItemsReply.parts(of: items)
    }

    /// Unlocks the vault, and begins the log of what is done with it.
    func unlock(with secret: UnlockingSecret, for caller: Caller) throws(VaultError) {
        try keeper.unlock(with: secret)
        do throws(VaultError) {
            try use(caller) { vault throws(VaultError) in try audit?.begin(vault) }
            try audit?.note(.unlock, by: caller)
        } catch {
            // Without a log there is nothing to be had.
            keeper.lock()
            throw error
        }
        keeper.joinFetched()
    }

    /// Checks what a person has typed. A vault that was locked is unlocked by it.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`; `.storage(.noMatchingSlot)` when the vault has no slot for a passphrase
    ///   alone.
    func prove(_ passphrase: Passphrase, for caller: Caller) throws(VaultError) {
        guard keeper.lockState == .unlocked else { return try unlock(with: .passphrase(passphrase), for: caller) }
        try keeper.check(.passphrase(passphrase))
    }

    /// Writes down that a person has allowed something, and makes what shows it.
    func ticket(for caller: Caller) throws(VaultError) -> TicketReply {
        try audit?.note(.authenticate, by: caller)
        return TicketReply(.random(keeper.settings.environment.random))
    }

    /// Runs a change of one item.
    func change(
        _ verb: AuditLog.Verb, _ caller: Caller, _ body: (Vault) throws(VaultError) -> Item
    ) throws(VaultError) -> [ItemsReply] {
        let item = try use(caller, body)
        try afterwards { audit throws(VaultError) in try audit.note(verb, [item], by: caller) }
        return ItemsReply.parts(of: [item])
    }

    /// Runs a change of everything that matches. The log needs to know what that was.
    func change(
        matching query: Query, _ change: QueriedChange, _ caller: Caller,
        _ body: (inout Transaction) throws(VaultError) -> Int
    ) throws(VaultError) -> [CountReply] {
        var items: [UUID] = []
        let count = try use(caller) { vault throws(VaultError) in
            try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
                // A query that is wrong is for the verb to refuse.
                if audit != nil { items = (try? transaction.identifiers(of: change, matching: query)) ?? [] }
                return try body(&transaction)
            }
        }
        try afterwards { audit throws(VaultError) in try audit.note(AuditLog.Verb(change), items, by: caller) }
        return [CountReply(count)]
    }

    /// Writes down what has been done already, which a failure does not undo.
    func afterwards(_ note: (AuditLog) throws(VaultError) -> Void) throws(VaultError) {
        guard let audit else { return }
        do throws(VaultError) { try note(audit) } catch {
            guard case .storage(.inputOutput(let errno, _)) = error else { throw error }
            throw .storage(.indeterminate(errno))
        }
    }
}

extension ItemsReply {
    /// Items in as many replies as they need.
    fileprivate static func parts(of items: [Item]) -> [ItemsReply] {
        let parts = FrameParts.of(items.compactMap { StoredItem($0) }) { item in
            128 + item.attributes.count + (item.secret?.count ?? 0) / 128
                + item.fields.reduce(0) { $0 + 16 + $1.key.utf8.count + $1.value.count / 128 }
        }
        return parts.enumerated().map { index, part in ItemsReply(part, isLast: index == parts.count - 1) }
    }
}

extension Caller {
    /// What the log says of secrets that this client was given.
    var verbForSecrets: AuditLog.Verb { purpose == .use ? .use : .reveal }
}

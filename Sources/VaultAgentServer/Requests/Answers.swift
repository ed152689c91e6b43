// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultAgent

/// The execution of requests.
struct Answers: Sendable {
    let keeper: VaultKeeper
    let audit: AuditLog?
    let questions: Questions
    /// The directory of the log, even if this agent does not write one.
    let auditDirectory: FilePath?

    /// Executes a permitted request.
    func answer(_ request: some VaultRequest, of caller: Caller) -> [any AgentReply] {
        do throws(VaultError) {
            return try request.replies(to: caller, from: self)
        } catch {
            audit?.noteRefusal(of: caller, error)
            return [FailureReply(error)]
        }
    }

    /// Executes a permitted request without blocking; `nil` if it has to run on another thread.
    func answerAtOnce(_ request: some VaultRequest, of caller: Caller) -> [any AgentReply]? {
        do throws(VaultError) {
            return try request.repliesAtOnce(to: caller, from: self)
        } catch {
            audit?.noteRefusal(of: caller, error)
            return [FailureReply(error)]
        }
    }

    // MARK: Common parts of requests

    func use<R>(_ caller: Caller, _ body: (Vault) throws(VaultError) -> R) throws(VaultError) -> R {
        try keeper.use(caller.groups) { vault throws(VaultError) in try body(caller.view(of: vault)) }
    }

    func found(_ items: [Item], _ query: Query, _ caller: Caller) throws(VaultError) -> [ItemsReply] {
        try audit?.note(query.returnsSecrets ? caller.verbForSecrets : .find, items, by: caller)
        return ItemsReply.parts(of: items)
    }

    /// Unlocks the vault, and starts the audit log.
    func unlock(with secret: UnlockingSecret, for caller: Caller) throws(VaultError) {
        try keeper.unlock(with: secret)
        do throws(VaultError) {
            try use(caller) { vault throws(VaultError) in try audit?.begin(vault) }
            try audit?.note(.unlock, by: caller)
        } catch {
            // Without a log nothing may be handed out.
            keeper.lock()
            throw error
        }
        keeper.joinFetched()
    }

    /// Checks a passphrase that a person has typed, and unlocks a locked vault by it.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`; `.storage(.noMatchingSlot)` if no slot of the vault needs only a
    ///   passphrase.
    func prove(_ passphrase: Passphrase, for caller: Caller) throws(VaultError) {
        guard keeper.lockState == .unlocked else { return try unlock(with: .passphrase(passphrase), for: caller) }
        try keeper.check(.passphrase(passphrase))
    }

    /// Records a person's permission, and makes its ticket.
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

    /// Runs a change of all matching items, which the log needs to know.
    func change(
        matching query: Query, _ change: QueriedChange, _ caller: Caller,
        _ body: (inout Transaction) throws(VaultError) -> Int
    ) throws(VaultError) -> [CountReply] {
        var items: [UUID] = []
        let count = try use(caller) { vault throws(VaultError) in
            try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
                // The verb itself rejects an invalid query.
                if audit != nil { items = (try? transaction.identifiers(of: change, matching: query)) ?? [] }
                return try body(&transaction)
            }
        }
        try afterwards { audit throws(VaultError) in try audit.note(AuditLog.Verb(change), items, by: caller) }
        return [CountReply(count)]
    }

    /// Records a completed change. A failure does not undo the change.
    func afterwards(_ note: (AuditLog) throws(VaultError) -> Void) throws(VaultError) {
        guard let audit else { return }
        do throws(VaultError) { try note(audit) } catch {
            guard case .storage(.inputOutput(let errno, _)) = error else { throw error }
            throw .storage(.indeterminate(errno))
        }
    }
}

extension ItemsReply {
    /// Splits the items into as many replies as necessary.
    fileprivate static func parts(of items: [Item]) -> [ItemsReply] {
        let parts = FrameParts.of(items.compactMap { StoredItem($0) }) { item in
            128 + item.attributes.count + (item.secret?.count ?? 0) / 128
                + item.fields.reduce(0) { $0 + 16 + $1.key.utf8.count + $1.value.count / 128 }
        }
        return parts.enumerated().map { index, part in ItemsReply(part, isLast: index == parts.count - 1) }
    }
}

extension Caller {
    /// The log's verb for secrets that this client received.
    var verbForSecrets: AuditLog.Verb { purpose == .use ? .use : .reveal }
}

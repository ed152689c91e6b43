// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultAgent

/// What the agent does with a request. Everything here may wait for the disk, and runs on no event loop.
struct Answers: Sendable {
    let keeper: VaultKeeper
    let audit: AuditLog?
    /// Where the log is, or was before this agent began.
    let auditDirectory: FilePath?

    func answer(_ request: AgentRequest, of caller: Caller) -> [AgentReply] {
        do throws(VaultError) {
            do throws(VaultError) {
                try caller.check(request)
                return try carryOut(request, of: caller)
            } catch {
                audit?.noteRefusal(of: request, by: caller, error)
                throw error
            }
        } catch {
            return [.failure(error)]
        }
    }

    /// The answer to a query that need not wait for anybody; nil: it has to, or it is no query. Whoever holds the vault
    /// makes all others wait, so it makes no difference to them on which thread a query runs.
    func answerAtOnce(_ request: AgentRequest, of caller: Caller) -> [AgentReply]? {
        guard case .copyMatching(let query) = request, !keeper.isLockDue else { return nil }
        do throws(VaultError) {
            try caller.check(request)
            guard
                let items = try keeper.useAtOnce(
                    caller.groups, { vault throws(VaultError) in try vault.copyMatchingAtOnce(query) })
            else {
                return nil
            }
            return try found(items, query, caller)
        } catch {
            if error == .agent(.refused) { audit?.noteRefusal(of: request, by: caller, error) }
            return [.failure(error)]
        }
    }

    private func found(_ items: [Item], _ query: Query, _ caller: Caller) throws(VaultError) -> [AgentReply] {
        try audit?.note(query.returnsSecrets ? caller.verbForSecrets : .find, items, by: caller)
        return Answers.replies(items)
    }

    private func carryOut(_ request: AgentRequest, of caller: Caller) throws(VaultError) -> [AgentReply] {
        switch request {
        // The connection answers these itself.
        case .hello, .status, .awaitTurn, .stop: throw .agent(.protocolViolation)
        case .unlock(let secret):
            try keeper.unlock(with: secret)
            do throws(VaultError) {
                try keeper.use(caller.groups) { vault throws(VaultError) in try audit?.begin(vault) }
                try audit?.note(.unlock, by: caller)
            } catch {
                // Without a log there is nothing to be had.
                keeper.lock()
                throw error
            }
            return [.done]
        case .lock:
            keeper.lock()
            try audit?.note(.lock, by: caller)
            return [.done]
        case .copyMatching(let query):
            let items = try keeper.use(caller.groups) { vault throws(VaultError) in try vault.copyMatching(query) }
            return try found(items, query, caller)
        case .secret(let key):
            let secret = try keeper.use(caller.groups) { vault throws(VaultError) in try vault.secret(of: key) }
            try audit?.note(caller.verbForSecrets, key.id, by: caller)
            return [.secret(secret)]
        case .add(let item): return try store(item, .add, caller) { vault throws(VaultError) in try vault.add(item) }
        case .set(let item): return try store(item, .set, caller) { vault throws(VaultError) in try vault.set(item) }
        case .update(let query, let changes):
            let count = try change(query, .update, caller) { (transaction: inout Transaction) throws(VaultError) in
                try transaction.update(matching: query, with: changes)
            }
            return [.count(UInt64(count))]
        case .delete(let query):
            let count = try change(query, .delete, caller) { (transaction: inout Transaction) throws(VaultError) in
                try transaction.delete(matching: query)
            }
            return [.count(UInt64(count))]
        case .store(let items, let replacing, _):
            try keeper.use(caller.groups) { vault throws(VaultError) in try vault.store(items, replacing: replacing) }
            try afterwards { audit throws(VaultError) in try audit.note(.import, count: items.count, by: caller) }
            return [.done]
        case .compact:
            try keeper.use(caller.groups) { vault throws(VaultError) in try vault.compact() }
            return [.done]
        case .versions(let query, let deleted):
            let versions = try keeper.use(caller.groups) { vault throws(VaultError) in
                try deleted ? vault.deletedItems(matching: query) : vault.versions(matching: query)
            }
            return try found(versions.map(\.item), query, caller)
        case .undo(let key, let version):
            let item = try keeper.use(caller.groups) { vault throws(VaultError) in try vault.undo(key, to: version) }
            return try changed(item, caller)
        case .restoreItem(let key):
            let item = try keeper.use(caller.groups) { vault throws(VaultError) in try vault.restoreItem(key) }
            return try changed(item, caller)
        case .forget(let group):
            let count = try keeper.use(caller.groups) { vault throws(VaultError) in try vault.forget(accessGroup: group)
            }
            try afterwards { audit throws(VaultError) in try audit.note(.forget, count: count, by: caller) }
            return [.count(UInt64(count))]
        case .verify(let deep):
            return [
                .verification(
                    try keeper.use(caller.groups) { vault throws(VaultError) in try vault.verify(deep: deep) })
            ]
        case .deviceIdentifier(let name, let isBound, let reset):
            let identifier = try keeper.use(caller.groups) { vault throws(VaultError) in
                try reset
                    ? vault.resetDeviceIdentifier(for: name, thisDeviceOnly: isBound)
                    : vault.deviceIdentifier(for: name, thisDeviceOnly: isBound)
            }
            try afterwards { audit throws(VaultError) in try audit.note(reset ? .set : .use, count: 1, by: caller) }
            return [.identifier(identifier)]
        case .lockedCount(let query):
            return [
                .count(
                    UInt64(
                        try keeper.use(caller.groups) { vault throws(VaultError) in
                            try vault.lockedCount(matching: query)
                        }))
            ]
        case .setIdleLimit(let seconds):
            keeper.setIdleLimit(.seconds(Int64(seconds)))
            return [.done]
        case .audit:
            guard let directory = auditDirectory else { throw .unimplemented }
            let (entries, firstChanged) = try keeper.use(caller.groups) { vault throws(VaultError) in
                try AuditLog.check(with: vault, in: directory)
            }
            return [.audit(entries: UInt64(entries), firstChanged: firstChanged.map { UInt64($0) })]
        }
    }

    private func store(
        _ item: Item, _ verb: AuditLog.Verb, _ caller: Caller, _ body: (Vault) throws(VaultError) -> Item
    ) throws(VaultError) -> [AgentReply] {
        let stored = try keeper.use(caller.groups, body)
        try afterwards { audit throws(VaultError) in try audit.note(verb, [stored], by: caller) }
        return Answers.replies([stored])
    }

    private func changed(_ item: Item, _ caller: Caller) throws(VaultError) -> [AgentReply] {
        try afterwards { audit throws(VaultError) in try audit.note(.update, [item], by: caller) }
        return Answers.replies([item])
    }

    /// Runs a change of everything that matches. Whoever keeps a log needs to know what that was.
    private func change(
        _ query: Query, _ verb: AuditLog.Verb, _ caller: Caller, _ body: (inout Transaction) throws(VaultError) -> Int
    ) throws(VaultError) -> Int {
        var items: [UUID] = []
        let count = try keeper.use(caller.groups) { vault throws(VaultError) in
            try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
                // A query that is wrong is for the verb to refuse.
                if audit != nil { items = (try? transaction.identifiers(matching: query)) ?? [] }
                return try body(&transaction)
            }
        }
        try afterwards { audit throws(VaultError) in try audit.note(verb, items, by: caller) }
        return count
    }

    /// Writes down what has been done already, which a failure does not undo.
    private func afterwards(_ note: (AuditLog) throws(VaultError) -> Void) throws(VaultError) {
        guard let audit else { return }
        do throws(VaultError) { try note(audit) } catch {
            guard case .storage(.inputOutput(let errno, _)) = error else { throw error }
            throw .storage(.indeterminate(errno))
        }
    }

    /// Items in as many replies as they need.
    private static func replies(_ items: [Item]) -> [AgentReply] {
        var replies: [AgentReply] = []
        var part: [StoredItem] = []
        var size = 0
        for item in items.compactMap({ StoredItem($0) }) {
            let itemSize = 128 + item.attributes.count + (item.secret?.count ?? 0) / 128
            if size + itemSize > longestPart, !part.isEmpty {
                replies.append(.items(part, isLast: false))
                (part, size) = ([], 0)
            }
            part.append(item)
            size += itemSize
        }
        replies.append(.items(part, isLast: true))
        return replies
    }

    /// One item, whose attributes have 64 KiB at most, may go beyond it without being too much for a frame.
    private static let longestPart = 128 << 10
}

extension Caller {
    fileprivate var verbForSecrets: AuditLog.Verb { purpose == .use ? .use : .reveal }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultDoorKit

// The reads of a view through its agent. Another process may lock, unlock or change the vault between any two steps.

/// Repeats the body, which receives the number of earlier attempts, until it returns a value, or the attempts are used
/// up.
func steady<R, E: Error>(most: Int = 8, _ body: (_ attempt: Int) async throws(E) -> R?) async throws(E) -> R? {
    for attempt in 0..<most {
        if let result = try await body(attempt) { return result }
    }
    return nil
}

extension VaultView {
    /// As ``steady(most:_:)``, but a value counts only if the vault was neither locked nor unlocked while the body ran:
    /// items found before a lock are no longer served, and an empty result means nothing.
    private func inOneEra<R, E: Error>(_ body: () async throws(E) -> R?) async throws(E) -> R? {
        try await steady { _ throws(E) in
            let era = era
            let result = try await body()
            return era == self.era ? result : nil
        }
    }

    // MARK: State

    /// Returns whether the vault is unlocked; asks the agent if it was not at the last report.
    func checkUnlocked() async -> Bool {
        if isUnlocked { return true }
        return await isUnlockedNow()
    }

    /// Asks the agent whether the vault is unlocked.
    func isUnlockedNow() async -> Bool { await askState() == .unlocked }

    /// Returns the agent's current state, and reports it; `nil` if the agent has exited.
    private func askState() async -> AgentStatus.State? {
        let agent = agent
        var state: AgentStatus.State?
        // A report that began before the last recorded lock or unlock may be outdated.
        _ = await inOneEra { () -> Void? in state = await DoorWorker.run { (try? agent.status())?.state } }
        if let state { wasOpened = state != .new }
        switch state {
        case nil: report(self, .gone)
        case .unlocked?: if !isUnlocked { report(self, .unlocked) }
        default: report(self, .locked)
        }
        return state
    }

    /// Maps an error of the agent for a client.
    func refusal(_ error: VaultError) async -> ServiceRefusal {
        switch error {
        // The vault may have been unlocked since.
        case .locked: _ = await askState()
        case .agent(.notRunning), .agent(.gone), .closed: report(self, .gone)
        default: break
        }
        return ServiceRefusal(error)
    }

    /// Runs an operation of the agent for a client.
    func trying<R>(_ body: (AgentClient) async throws(VaultError) -> R) async throws(ServiceRefusal) -> R {
        do throws(VaultError) { return try await body(agent) } catch { throw await refusal(error) }
    }

    // MARK: Lists

    /// Returns the properties of the collections, which a locked vault tells once it was unlocked.
    @discardableResult
    func loadRecords() async throws(ServiceRefusal) -> [String: CollectionRecord] {
        let loaded = try await inOneEra { () throws(ServiceRefusal) -> [String: CollectionRecord]? in
            if let records { return records }
            guard wasOpened else { return [:] }
            let moment = moment
            var found: [String: CollectionRecord] = [:]
            for item in try await items(CollectionRecord.query()) {
                found[item[.accessGroup]?.text ?? ""] = CollectionRecord(item)
            }
            return keep(found, as: moment)
        }
        return loaded ?? [:]
    }

    /// Returns the list of items, reading it if necessary.
    @discardableResult
    func loadList() async throws(ServiceRefusal) -> ItemList {
        let loaded = try await inOneEra { () throws(ServiceRefusal) -> ItemList? in
            if let list { return list }
            let moment = moment
            let list = try await readList(as: moment)
            guard await isUnlockedNow() else { throw .isLocked }
            // The watch began earlier, so it reports changes made meanwhile.
            return keep(list, as: moment)
        }
        guard let loaded else { throw .isLocked }
        return loaded
    }

    private func readList(as moment: Moment) async throws(ServiceRefusal) -> ItemList {
        try await loadRecords()
        var list = ItemList()
        for itemClass in ServedItem.classes {
            var query = Query(itemClass)
            query.complete()
            for item in try await items(query).compactMap({ ServedItem($0) }) {
                list.insert(item.id, itemClass, item.group)
                keep(item, as: moment)
            }
        }
        return list
    }

    // MARK: Finding

    /// Items, and whether they are all, which is unknown while the vault is locked.
    typealias Found = (items: [ServedItem], isAll: Bool)

    /// Returns the items of a collection, or of all, with these attributes.
    func find(_ attributes: ProgramAttributes, in collection: CollectionName?) async throws(ServiceRefusal) -> Found {
        try await loadRecords()
        guard let collection else { return try await find(attributes, inGroup: nil) }
        guard let group = group(of: collection) else { return ([], await isUnlockedNow()) }
        return try await find(attributes, inGroup: group)
    }

    /// Returns the items of a group, or of all, with these attributes.
    func find(_ attributes: ProgramAttributes, inGroup group: String?) async throws(ServiceRefusal) -> Found {
        let found = try await steady { attempt throws(ServiceRefusal) -> Found? in
            let era = era
            var (items, isAll) = try await findOnce(attributes, in: group)
            if !isAll, await isUnlockedNow() {
                // The result may date from before the unlock.
                guard attempt > 0 else { return nil }
                isAll = true
            }
            return era == self.era ? (items, isAll) : nil
        }
        return found ?? ([], false)
    }

    private func findOnce(_ attributes: ProgramAttributes, in group: String?) async throws(ServiceRefusal) -> Found {
        let moment = moment
        var found: [Item] = []
        var isAll = isUnlocked
        for itemClass in ServedItem.classes {
            if itemClass == .internetPassword, isUnlocked, list?.hasInternetPasswords == false { continue }
            var query = Query(itemClass)
            query.face = .program(attributes.values)
            query.complete()
            if let group { query.attributes[.accessGroup] = .string(group) }
            found += try await items(query, &isAll)
        }
        // Programs take the first result.
        let served = found.lastChangedFirst.compactMap { ServedItem($0) }.filter { group != nil || trusts($0) }
        for item in served { keep(item, as: moment) }
        guard isConfined else { return (served, isAll) }
        return (served.filter { $0.group == home } + served.filter { $0.group != home }, isAll)
    }

    /// Returns an item of a collection; `.isLocked` rather than `.noSuchObject` while the vault is locked.
    func item(_ id: UUID, in collection: CollectionName) async throws(ServiceRefusal) -> ServedItem {
        let served = try await steady { attempt throws(ServiceRefusal) -> ServedItem? in
            if let item = self[id], item.group == group(of: collection) { return item }
            try await loadRecords()
            let (era, moment) = (era, moment)
            let (found, isAll) = try await readItem(id, in: group(of: collection))
            // Items read before the vault was locked are not served after it.
            guard era == self.era else { return nil }
            if let found {
                keep(found, as: moment)
                return found
            }
            guard await isUnlockedNow() else { throw .isLocked }
            guard !isAll, attempt == 0 else { throw .noSuchObject }
            return nil
        }
        guard let served, !closed.contains(served) else { throw .isLocked }
        return served
    }

    private func readItem(_ id: UUID, in group: String?) async throws(ServiceRefusal) -> (ServedItem?, isAll: Bool) {
        var isAll = isUnlocked
        for itemClass in list?.itemClass(of: id).map({ [$0] }) ?? ServedItem.classes {
            let found = try await items(VaultView.query(id, itemClass), &isAll)
            if let item = found.lazy.compactMap({ ServedItem($0) }).first(where: { $0.group == group }) {
                return (item, true)
            }
        }
        return (nil, isAll)
    }

    static func query(_ id: UUID, _ itemClass: ItemClass) -> Query {
        var query = Query(persistentReference: ItemRecord.persistentReference(itemClass, id))
        query.leavesOutLocked = true
        return query
    }

    /// Runs a query. If asked for all, the agent reports in the same answer whether further matching items are locked:
    /// a separate request before or after could see another state.
    private func items(_ query: Query, _ isAll: inout Bool) async throws(ServiceRefusal) -> [Item] {
        guard isAll else { return try await items(query) }
        var whole = query
        whole.leavesOutLocked = false
        do throws(VaultError) { return try await found(whole) } catch {
            guard error != .itemNotFound else { return [] }
            isAll = isAll && error != .locked
            return try await items(query)
        }
    }

    /// Runs a query; empty if it finds nothing.
    private func items(_ query: Query) async throws(ServiceRefusal) -> [Item] {
        do throws(VaultError) { return try await found(query) } catch {
            guard error != .itemNotFound else { return [] }
            // Without rights to a group, its content is empty.
            if error == .accessGroupDenied, query.attributes[.accessGroup] != nil { return [] }
            throw await refusal(error)
        }
    }

    private func found(_ query: Query) async throws(VaultError) -> [Item] {
        // Answering from an index takes less time than handing the query to another thread.
        let isBrief = !query.attributes.isEmpty || query.isNarrow || query.persistentReference != nil
        return isBrief ? try foundNow(query) : try await agent.copyMatching(query)
    }

    private func foundNow(_ query: Query) throws(VaultError) -> [Item] { try agent.copyMatching(query) }
}

extension Query {
    /// Finds all items that are readable now.
    mutating func complete() {
        leavesOutLocked = true
        limit = .all
    }

    /// Whether a program has given attributes to search by.
    fileprivate var isNarrow: Bool {
        guard case .program(let wanted)? = face else { return false }
        return !wanted.isEmpty
    }
}

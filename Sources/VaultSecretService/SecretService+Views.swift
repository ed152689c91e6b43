// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultDoorKit

extension SecretService {
    // MARK: Views

    /// Returns the view of a client, if it exists already.
    func viewAtOnce(for client: ServiceClient) -> VaultView? { views[views.key(of: client)] }

    /// Returns the view of a client.
    ///
    /// - Throws: `.isLocked` if no agent runs, `.noVault`.
    func view(for client: ServiceClient) async throws(ServiceRefusal) -> VaultView {
        if views.shared == nil { _ = try await connect(nil) }
        guard let process = views.key(of: client) else {
            guard let view = views.shared else { throw .isLocked }
            return view
        }
        views.use(process)
        if let view = views[process] { return view }
        return try await connect(process)
    }

    /// Connects a client to the agent.
    private func connect(_ client: DoorClient?) async throws(ServiceRefusal) -> VaultView {
        let task = views.connection(of: client) {
            Task {
                do throws(ServiceRefusal) {
                    views.endConnection(of: client, try await newView(for: client))
                    return nil
                } catch {
                    views.endConnection(of: client, nil)
                    return error
                }
            }
        }
        if let refusal = await task.value { throw refusal }
        guard let view = views[client] else { throw .isLocked }
        return view
    }

    private func newView(for client: DoorClient?) async throws(ServiceRefusal) -> VaultView {
        let house = house
        let agent: AgentClient?
        do throws(VaultError) {
            agent = try await DoorWorker.attempt { () throws(VaultError) in try house.agent(for: client) }
        } catch { throw ServiceRefusal(error) }
        guard let agent else { throw house.hasVault ? .isLocked : .noVault }
        guard agent.greeting.access == .full else { throw .denied }
        // The agent's greeting determines the views and their contents, so the connection is bound to those rights.
        agent.isBoundToRights = true
        // The watch does not report changes made before it began, so it begins before anything is read. The greeting
        // may be older.
        let view = VaultView(agent, client: client)
        let changes = await DoorWorker.run { agent.changes(matching: nil, from: nil) }
        _ = await isUnlockedNow(view)
        guard !view.isClosed else { throw .isLocked }
        follow(changes, view)
        return view
    }

    /// Returns the view of a client if the vault is unlocked.
    func unlockedView(for client: ServiceClient) async throws(ServiceRefusal) -> VaultView {
        let view = try await view(for: client)
        guard await isUnlocked(view) else { throw .isLocked }
        return view
    }

    /// Returns whether the vault is unlocked; asks the agent if it was not at the last report.
    func isUnlocked(_ view: VaultView) async -> Bool {
        if view.isUnlocked { return true }
        return await isUnlockedNow(view)
    }

    /// Asks the agent whether the vault is unlocked.
    func isUnlockedNow(_ view: VaultView) async -> Bool {
        await state(of: view) == .unlocked
    }

    /// Returns the agent's current state, and records it; `nil` if the agent has exited.
    private func state(of view: VaultView) async -> AgentStatus.State? {
        let agent = view.agent
        var state: AgentStatus.State?
        // A report that began before the last recorded lock or unlock may be outdated.
        _ = await steady(view) { _ -> Void? in state = await DoorWorker.run { (try? agent.status())?.state } }
        if let state { view.wasOpened = state != .new }
        switch state {
        case nil: drop(view)
        case .unlocked?: if !view.isUnlocked { noteUnlocked(view) }
        default: noteLocked(view)
        }
        return state
    }

    /// Maps an error of the agent for a client.
    func refusal(_ error: VaultError, _ view: VaultView) async -> ServiceRefusal {
        switch error {
        // The vault may have been unlocked since.
        case .locked: _ = await state(of: view)
        case .agent(.notRunning), .agent(.gone), .closed: drop(view)
        default: break
        }
        return ServiceRefusal(error)
    }

    /// Drops a view whose agent has exited; the next call looks for another agent.
    func drop(_ view: VaultView) {
        if view.isUnlocked { noteLocked(view) }
        views.drop(view)
    }

    // MARK: Finding

    /// Repeats the body until it returns a value: another process may lock, unlock or change the vault between any two
    /// of its steps.
    ///
    /// - Parameters:
    ///   - most: the most attempts.
    ///   - body: receives the number of earlier attempts; `nil` demands another attempt.
    /// - Returns: `nil` after the last attempt.
    func steady<R, E: Error>(
        most: Int = 8, _ body: (_ attempt: Int) async throws(E) -> R?
    ) async throws(E) -> R? {
        for attempt in 0..<most {
            if let result = try await body(attempt) { return result }
        }
        return nil
    }

    /// As above, but a value counts only if the vault was neither locked nor unlocked while the body ran: items found
    /// before a lock are no longer served, and an empty result means nothing.
    func steady<R, E: Error>(
        _ view: VaultView, _ body: (_ attempt: Int) async throws(E) -> R?
    ) async throws(E) -> R? {
        try await steady { attempt throws(E) in
            let era = view.era
            let result = try await body(attempt)
            return era == view.era ? result : nil
        }
    }

    /// Returns the properties of the collections, which a locked vault tells once it was unlocked.
    @discardableResult
    func records(_ view: VaultView) async throws(ServiceRefusal) -> [String: CollectionRecord] {
        let records = try await steady(view) { _ throws(ServiceRefusal) -> [String: CollectionRecord]? in
            if let records = view.records { return records }
            guard view.wasOpened else { return [:] }
            let moment = view.moment
            var found: [String: CollectionRecord] = [:]
            for item in try await items(CollectionRecord.query(), view) {
                found[item[.accessGroup]?.text ?? ""] = CollectionRecord(item)
            }
            return view.keep(found, as: moment)
        }
        return records ?? [:]
    }

    /// Returns the items of a collection, or of all, with these attributes.
    func find(
        _ attributes: ProgramAttributes, in collection: CollectionName?, _ view: VaultView
    ) async throws(ServiceRefusal) -> (items: [ServedItem], isAll: Bool) {
        try await records(view)
        guard let collection else { return try await find(attributes, inGroup: nil, view) }
        guard let group = view.group(of: collection) else { return ([], await isUnlockedNow(view)) }
        return try await find(attributes, inGroup: group, view)
    }

    /// Returns the items of a group, or of all, with these attributes.
    ///
    /// - Returns: `isAll`: whether the result is complete, which is unknown while the vault is locked.
    func find(
        _ attributes: ProgramAttributes, inGroup group: String?, _ view: VaultView
    ) async throws(ServiceRefusal) -> (items: [ServedItem], isAll: Bool) {
        let found = try await steady(view) {
            attempt throws(ServiceRefusal) -> (items: [ServedItem], isAll: Bool)? in
            var (items, isAll) = try await findOnce(attributes, in: group, view)
            if !isAll, await isUnlockedNow(view) {
                // The result may date from before the unlock.
                guard attempt > 0 else { return nil }
                isAll = true
            }
            return (items, isAll)
        }
        return found ?? ([], false)
    }

    private func findOnce(
        _ attributes: ProgramAttributes, in group: String?, _ view: VaultView
    ) async throws(ServiceRefusal) -> (items: [ServedItem], isAll: Bool) {
        let moment = view.moment
        var found: [Item] = []
        var isAll = view.isUnlocked
        for itemClass in ServedItem.classes {
            if itemClass == .internetPassword, view.isUnlocked, view.list?.hasInternetPasswords == false { continue }
            var query = Query(itemClass)
            query.face = .program(attributes.values)
            query.complete()
            if let group { query.attributes[.accessGroup] = .string(group) }
            found += try await items(query, view, &isAll)
        }
        // Programs take the first result.
        let served = found.lastChangedFirst.compactMap { ServedItem($0) }.filter { group != nil || view.trusts($0) }
        for item in served { view.keep(item, as: moment) }
        guard view.isConfined else { return (served, isAll) }
        return (served.filter { $0.group == view.home } + served.filter { $0.group != view.home }, isAll)
    }

    /// Runs a query. The agent reports in the same answer whether further matching items are locked: a separate request
    /// before or after could see another state.
    ///
    /// - Parameter isAll: whether to ask for that; becomes `false` if there are such items.
    private func items(
        _ query: Query, _ view: VaultView, _ isAll: inout Bool
    ) async throws(ServiceRefusal) -> [Item] {
        guard isAll else { return try await items(query, view) }
        var whole = query
        whole.leavesOutLocked = false
        do throws(VaultError) {
            return try await found(whole, view)
        } catch {
            guard error != .itemNotFound else { return [] }
            isAll = isAll && error != .locked
            return try await items(query, view)
        }
    }

    /// Runs a query; empty if it finds nothing.
    func items(_ query: Query, _ view: VaultView) async throws(ServiceRefusal) -> [Item] {
        do throws(VaultError) {
            return try await found(query, view)
        } catch {
            guard error != .itemNotFound else { return [] }
            // Without rights to a group, its content is empty.
            if error == .accessGroupDenied, query.attributes[.accessGroup] != nil { return [] }
            throw await refusal(error, view)
        }
    }

    private func found(_ query: Query, _ view: VaultView) async throws(VaultError) -> [Item] {
        // Answering from an index takes less time than handing the query to another thread.
        let isBrief = !query.attributes.isEmpty || query.isNarrow || query.persistentReference != nil
        return isBrief ? try now(query, view.agent) : try await view.agent.copyMatching(query)
    }

    private func now(_ query: Query, _ agent: AgentClient) throws(VaultError) -> [Item] {
        try agent.copyMatching(query)
    }

    /// Returns the item of a path.
    ///
    /// - Throws: `.isLocked` rather than `.noSuchObject` while the vault is locked.
    func item(
        _ object: ServiceObject, _ view: VaultView, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> ServedItem {
        switch object {
        case .item(let collection, let id):
            let served = try await steady { attempt throws(ServiceRefusal) -> ServedItem? in
                if let item = view[id], item.group == view.group(of: collection) { return item }
                try await records(view)
                let (era, moment) = (view.era, view.moment)
                let (found, isAll) = try await item(id, in: view.group(of: collection), view)
                // Items read before the vault was locked are not served after it.
                guard era == view.era else { return nil }
                if let found {
                    view.keep(found, as: moment)
                    return found
                }
                guard await isUnlockedNow(view) else { throw .isLocked }
                guard !isAll, attempt == 0 else { throw .noSuchObject }
                return nil
            }
            guard let served, !view.closed.contains(served) else { throw .isLocked }
            return served
        case .search(_, let number):
            guard let search = holdings.search(number), search.owner == client.name else { throw .noSuchObject }
            let found = try await find(search.attributes, in: search.collection, view)
            if let first = found.items.first {
                guard !view.closed.contains(first) else { throw .isLocked }
                return first
            }
            guard found.isAll else { throw .isLocked }
            throw .noSuchObject
        default: throw .noSuchObject
        }
    }

    private func item(
        _ id: UUID, in group: String?, _ view: VaultView
    ) async throws(ServiceRefusal) -> (ServedItem?, isAll: Bool) {
        var isAll = view.isUnlocked
        for itemClass in view.list?.itemClass(of: id).map({ [$0] }) ?? ServedItem.classes {
            var query = Query(persistentReference: ItemRecord.persistentReference(itemClass, id))
            query.leavesOutLocked = true
            let found = try await items(query, view, &isAll)
            if let item = found.lazy.compactMap({ ServedItem($0) }).first(where: { $0.group == group }) {
                return (item, true)
            }
        }
        return (nil, isAll)
    }

    var now: UInt64 { Date().wholeSeconds }
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

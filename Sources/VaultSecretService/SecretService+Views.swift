// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultDoorKit

extension SecretService {
    /// Returns the view of a client, if it exists already.
    func viewAtOnce(for client: ServiceClient) -> VaultView? { views[views.key(of: client)] }

    /// Returns the view of a client; `.isLocked` if no agent runs.
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

    /// Returns the view of a client if the vault is unlocked.
    func unlockedView(for client: ServiceClient) async throws(ServiceRefusal) -> VaultView {
        let view = try await view(for: client)
        guard await view.checkUnlocked() else { throw .isLocked }
        return view
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
        let view = VaultView(agent, client: client, report: reporter)
        let changes = await DoorWorker.run { agent.changes(matching: nil, from: nil) }
        _ = await view.isUnlockedNow()
        guard !view.isClosed else { throw .isLocked }
        follow(changes, view)
        return view
    }

    func note(_ news: VaultView.News, of view: VaultView) {
        switch news {
        case .locked: noteLocked(view)
        case .unlocked: noteUnlocked(view)
        case .gone: drop(view)
        }
    }

    /// Drops a view whose agent has exited; the next call looks for another agent.
    func drop(_ view: VaultView) {
        if view.isUnlocked { noteLocked(view) }
        views.drop(view)
    }

    /// Returns the item of a path; `.isLocked` rather than `.noSuchObject` while the vault is locked.
    func item(
        _ object: ServiceObject, _ view: VaultView, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> ServedItem {
        switch object {
        case .item(let collection, let id): return try await view.item(id, in: collection)
        case .search(_, let number):
            guard let search = holdings.searches[number], search.owner == client.name else { throw .noSuchObject }
            let found = try await view.find(search.attributes, in: search.collection)
            guard let first = found.items.first else { throw found.isAll ? .noSuchObject : .isLocked }
            guard !view.closed.contains(first) else { throw .isLocked }
            return first
        default: throw .noSuchObject
        }
    }

    var now: UInt64 { Date().wholeSeconds }
}

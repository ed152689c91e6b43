// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultBus
internal import VaultDoorKit

// Locking: of the vault, or of what one view shows.

extension SecretService {
    /// Locks the vault for the default collection and for the service itself. Any other collection or item is locked
    /// for the clients of the caller's view, until one of them unlocks it: one program may not take the whole vault
    /// from all others. A confined program locks its own view alone.
    func lock(_ objects: [ServiceObject], _ client: ServiceClient) async throws(ServiceRefusal) {
        guard !objects.isEmpty else { return }
        do throws(ServiceRefusal) {
            let view = try await view(for: client)
            try await view.loadRecords()
            var isWhole = false
            for object in objects {
                switch object {
                case .service: isWhole = true
                case .item(_, let id): view.closed.items.insert(id)
                case .collection, .alias:
                    guard let group = group(of: object, view) else { continue }
                    if group == view.home { isWhole = true } else { close(group, view) }
                case .search, .session, .prompt: continue
                }
            }
            guard isWhole else { return }
            guard !view.isConfined else {
                for group in Set(view.groups + [view.home]) { close(group, view) }
                return
            }
            try await view.trying { agent async throws(VaultError) in
                try await DoorWorker.attempt { () throws(VaultError) in try agent.lock() }
            }
            // Every client is notified before the answer.
            for other in views.all { _ = await other.isUnlockedNow() }
        } catch {
            // Without an agent nothing is unlocked.
            guard error == .isLocked || error == .noVault else { throw error }
        }
    }

    /// Shows again what clients of the view have locked.
    func open(_ objects: [ServiceObject], _ view: VaultView) {
        guard !view.closed.isEmpty else { return }
        for object in objects {
            switch object {
            case .service: for group in view.closed.groups { open(group, view) }
            case .collection, .alias: if let group = group(of: object, view) { open(group, view) }
            case .item(let collection, let id):
                view.closed.items.remove(id)
                if let group = view.group(of: collection) { open(group, view) }
            case .search, .session, .prompt: continue
            }
        }
    }

    private func group(of object: ServiceObject, _ view: VaultView) -> String? {
        switch object {
        case .collection(let name): view.group(of: name)
        case .alias(let name): view.target(of: name).flatMap { view.group(of: $0) }
        default: nil
        }
    }

    private func close(_ group: String, _ view: VaultView) {
        guard view.closed.groups.insert(group).inserted else { return }
        noteClosed(group, view)
    }

    private func open(_ group: String, _ view: VaultView) {
        guard view.closed.groups.remove(group) != nil else { return }
        noteClosed(group, view)
    }

    private func noteClosed(_ group: String, _ view: VaultView) {
        let isLocked = !view.isUnlocked || view.closed.groups.contains(group)
        signalProperties([("Locked", .flag(isLocked))], of: .collection(view.collection(group)), view)
        noteLists(view)
    }
}

/// The collections and items that clients of a view have locked, while the vault is unlocked.
struct ClosedObjects {
    var groups: Set<String> = []
    var items: Set<UUID> = []

    var isEmpty: Bool { groups.isEmpty && items.isEmpty }

    func contains(_ item: ServedItem) -> Bool { groups.contains(item.group) || items.contains(item.id) }
}

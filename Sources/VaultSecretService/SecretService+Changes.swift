// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultBus
internal import VaultDoorKit

extension SecretService {
    /// The signals with the path of an object as argument.
    enum Event: String {
        case itemCreated = "ItemCreated"
        case itemChanged = "ItemChanged"
        case itemDeleted = "ItemDeleted"
        case collectionCreated = "CollectionCreated"
        case collectionChanged = "CollectionChanged"
        case collectionDeleted = "CollectionDeleted"

        var member: BusMember {
            let kind: ServiceCall.Kind = rawValue.hasPrefix("Item") ? .collection : .service
            return BusMember(interface: kind.interface, name: rawValue)
        }
    }

    // MARK: Following

    /// Follows the changes of the vault, for the lifetime of the view.
    func follow(_ changes: ChangeSequence, _ view: VaultView) {
        let task = Task { [weak view] in
            // Reports of deleted items name their collections.
            if let view, (try? await view.loadList()) != nil { await completeRecords(view) }
            for await change in changes {
                guard let view, !view.isClosed else { return }
                await heard(change, view)
            }
            if let view { drop(view) }
        }
        view.keep(watching: task)
    }

    private func heard(_ change: ItemChange, _ view: VaultView) async {
        switch change.kind {
        // The state may have changed again since, and the service may know already.
        case .locked:
            let wasUnlocked = view.isUnlocked
            if await view.isUnlockedNow(), wasUnlocked { noteUnlocked(view) }
        case .unlocked: _ = await view.isUnlockedNow()
        // The watch ends with the connection.
        case .failed: return
        case .many:
            view.forget()
            _ = try? await view.loadList()
            for group in view.groups {
                signal(.collectionChanged, at: .service, .collection(view.collection(group)), view)
            }
            noteLists(view)
        case .added, .updated:
            guard let id = change.id, let itemClass = change.itemClass, ServedItem.classes.contains(itemClass) else {
                return
            }
            await heard(of: id, itemClass, isNew: change.kind == .added, view)
        case .deleted:
            if let id = change.id { noteDeleted(id, view) }
        }
    }

    /// Handles a deletion, by a client of this door or another process: the second report has no effect. The view may
    /// have forgotten the group.
    func noteDeleted(_ id: UUID, in group: String? = nil, _ view: VaultView) {
        let (group, count) = (group ?? view.group(of: id), view.groups.count)
        view.drop(id)
        view.note { $0.remove(id) }
        if let record = view.records?.first(where: { $0.value.id == id }) { view.note(nil, of: record.key) }
        guard let group else {
            // The item may have been the last one of a collection.
            if view.groups.count != count { noteLists(view) }
            return
        }
        let collection = view.collection(group)
        signal(.itemDeleted, at: .collection(collection), .item(collection, id), view)
        noteLists(view)
    }

    private func heard(of id: UUID, _ itemClass: ItemClass, isNew: Bool, _ view: VaultView) async {
        let formerGroup = view.group(of: id)
        if !isNew { view.drop(id) }
        var (era, moment) = (view.era, view.moment)
        var served = view[id]
        if served == nil {
            var items: [Item]?
            // An item that a client deletes during the read must not reappear.
            _ = await steady { _ -> Void? in
                (era, moment) = (view.era, view.moment)
                items = try? await view.agent.allMatching(VaultView.query(id, itemClass))
                return moment == view.moment ? () : nil
            }
            // An item that requires the user's consent from now on is missing as well, though the vault is unlocked.
            if items?.isEmpty == true, await view.isUnlockedNow(), era == view.era {
                return noteDeleted(id, in: formerGroup, view)
            }
            guard era == view.era else { return }
            if let record = items?.first, record[.service]?.text == CollectionRecord.service {
                let properties = CollectionRecord(record)
                view.note(properties, of: record[.accessGroup]?.text ?? "")
                if !properties.isReadableLocked { await completeRecords(view) }
                return noteLists(view)
            }
            served = items?.first.flatMap { ServedItem($0) }
            if let served { view.keep(served, as: moment) }
        }
        guard let served, era == view.era else { return }
        let group = served.group
        let old = view.list?.group(of: id)
        view.note { $0.insert(id, itemClass, group) }
        let (collection, object) = (ServiceObject.collection(view.collection(group)), view.object(of: served))
        if let old, old != group {
            let collection = view.collection(old)
            signal(.itemDeleted, at: .collection(collection), .item(collection, id), view)
        }
        let wasThere = old == group && !isNew
        signal(wasThere ? .itemChanged : .itemCreated, at: collection, object, view)
        if wasThere {
            signalProperties(
                [
                    ("Label", .text(served.label)), ("Attributes", .texts(served.attributes.values)),
                    ("Modified", .longNumber(served.record.modified.wholeSeconds)),
                ], of: object, view)
        } else {
            noteLists(view)
        }
        if view.records?[group] == nil { await completeRecords(view) }
    }

    func noteLocked(_ view: VaultView) {
        guard view.isUnlocked else { return }
        let collections = Set((view.groups + [view.home]).map(view.collection))
        view.turn(isUnlocked: false)
        for collection in collections {
            signalProperties([("Locked", .flag(true))], of: .collection(collection), view)
        }
        noteLists(view)
    }

    /// - Returns: the task that notifies the clients, once the list is known.
    @discardableResult
    func noteUnlocked(_ view: VaultView) -> Task<Void, Never> {
        view.turn(isUnlocked: true)
        // The pending question is settled.
        asking.stop()
        return Task {
            _ = try? await view.loadList()
            // If the vault was locked meanwhile, clients were notified of that, which takes precedence.
            guard view.isUnlocked else { return }
            await completeRecords(view)
            for group in Set(view.groups + [view.home]) {
                signalProperties([("Locked", .flag(false))], of: .collection(view.collection(group)), view)
            }
            noteLists(view)
        }
    }

    // MARK: Lists

    /// Schedules the signal with whole lists, rather than sending it for each change.
    func noteLists(_ view: VaultView) {
        let key = ObjectIdentifier(view)
        guard let rest = lists.schedule(key) else { return }
        Task { [weak view] in
            await DoorWorker.pause(for: rest)
            lists.end(key, isOpen: view?.isClosed == false)
            guard let view, !view.isClosed else { return }
            await sendLists(view)
        }
    }

    private func sendLists(_ view: VaultView) async {
        guard view.isUnlocked, let list = try? await view.loadList() else {
            signalProperties([("Items", .paths([]))], of: .collection(view.collection(view.home)), view, isList: true)
            return
        }
        signalProperties([("Collections", .paths(view.collectionPaths))], of: .service, view, isList: true)
        for group in Set(view.groups + [view.home]) {
            let paths = view.paths(in: group, list)
            signalProperties([("Items", .paths(paths))], of: .collection(view.collection(group)), view, isList: true)
        }
    }

    // MARK: Signals

    /// Returns the clients that have called and see this view. Signals are not broadcast to all listeners: a sandbox
    /// may be among them, and must not learn of objects that it cannot see.
    ///
    /// - Parameter isList: whether the signal has whole lists, which go only to clients that have read them.
    private func audience(_ view: VaultView, isList: Bool = false) -> [String] {
        holdings.clients.values.filter { viewAtOnce(for: $0) === view && ($0.looksAtLists || !isList) }.map(\.name)
    }

    func signal(_ event: Event, at object: ServiceObject, _ subject: ServiceObject, _ view: VaultView) {
        for name in audience(view) { send(event.member, at: object, to: name, [subject.value]) }
    }

    func signalProperties(
        _ properties: BusProperties, of object: ServiceObject, _ view: VaultView, isList: Bool = false
    ) {
        for name in audience(view, isList: isList) { signalProperties(properties, of: object, to: name) }
    }

    func signalProperties(_ properties: BusProperties, of object: ServiceObject, to name: String) {
        let member = BusMember(interface: "org.freedesktop.DBus.Properties", name: "PropertiesChanged")
        let interface = ServiceCall.Kind(object).interface
        send(member, at: object, to: name, [.text(interface), .properties(properties), .array(of: "s", [])])
    }

    func signalMemory(_ event: Event, _ id: UUID, _ client: ServiceClient) {
        let key = client.memory
        for other in holdings.clients.values where other.memory == key {
            send(event.member, at: .collection(.session), to: other.name, [ServiceObject.item(.session, id).value])
        }
        guard memories.beginList(of: key) else { return }
        Task {
            await DoorWorker.pause(for: ListTimer.afterChange)
            memories.endList(of: key)
            let paths = memories[key].paths
            for other in holdings.clients.values where other.looksAtLists && other.memory == key {
                signalProperties([("Items", .paths(paths))], of: .collection(.session), to: other.name)
            }
        }
    }

    /// Sends a signal; a client that has disconnected misses nothing.
    func send(_ member: BusMember, at object: ServiceObject, to name: String, _ values: [BusValue]) {
        guard let signal = try? connection.signal(member, at: object.path, to: name) else { return }
        guard (try? signal.append(values)) != nil else { return }
        try? connection.send(signal)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultDoorKit

/// The view of the vault of one client, or of all: a connection to the agent, and the data read through it. Confined to
/// the service's queue.
///
/// Size: a lock or a change of the vault makes all of these data stale at once.
final class VaultView {
    /// The client; `nil` for the view shared by all.
    let client: DoorClient?
    let agent: AgentClient
    /// The group that is this client's `default` collection: a sandbox has one of its own.
    let home: String
    /// Whether there are groups that the client does not see.
    let isConfined: Bool
    private(set) var isUnlocked: Bool
    /// Whether the vault was unlocked at any time since the agent was started.
    var wasOpened: Bool
    /// The collections and items that clients of this view have locked for themselves.
    var closed = ClosedObjects()
    /// The served items; `nil` if not read yet, or locked.
    private(set) var list: ItemList?
    /// Incremented with each lock and unlock: data read before is not served after it, since a part of it may have been
    /// read while locked.
    private(set) var era = 0
    private var epoch = 0
    private var changes = 0
    private(set) var isClosed = false
    private var watching: Task<Void, Never>?
    private var cache: [UUID: ServedItem] = [:]
    private var cached: [UUID] = []
    private var missed: [(inout ItemList) -> Void] = []

    private static let cacheLimit = 4096

    /// The agent's answer to a question about its state.
    enum News {
        case locked, unlocked
        /// The agent has exited.
        case gone
    }

    let report: (VaultView, News) -> Void

    init(_ agent: AgentClient, client: DoorClient?, report: @escaping (VaultView, News) -> Void) {
        (self.agent, self.client, self.report) = (agent, client, report)
        let groups = agent.greeting.groups
        home = groups.flatMap { $0.contains("default") ? nil : $0.first } ?? "default"
        isConfined = groups != nil || client?.sandbox != nil
        isUnlocked = agent.greeting.state == .unlocked
        wasOpened = agent.greeting.state != .new
    }

    /// A point in time of the view: data read is kept if nothing has changed since.
    struct Moment: Equatable {
        /// The number of events after which everything may be different.
        fileprivate let epoch: Int
        /// The number of changed or deleted items.
        fileprivate let changes: Int
    }

    var moment: Moment { Moment(epoch: epoch, changes: changes) }

    /// Discards all data: everything may be different.
    func forget() {
        epoch += 1
        (cache, cached, list, missed, records) = ([:], [], nil, [], nil)
    }

    // MARK: Collections

    /// The properties of the collections, by group; `nil` if not read yet.
    private(set) var records: [String: CollectionRecord]? { didSet { names = CollectionNames(records ?? [:]) } }
    private(set) var names = CollectionNames([:])

    /// The groups of the collections that are known.
    var groups: [String] { Set((list?.groups ?? []) + (records ?? [:]).keys).sorted() }

    func collection(_ group: String) -> CollectionName { .stored(names.element(of: group)) }

    /// Returns the group of a collection, which need not exist.
    func group(of collection: CollectionName) -> String? {
        guard case .stored(let element) = collection, let group = names.group(of: element) else { return nil }
        return group == "default" ? home : group
    }

    func object(of item: ServedItem) -> ServiceObject { .item(collection(item.group), item.id) }

    /// Returns the collection of an alias.
    func target(of alias: String) -> CollectionName? {
        let named = (records ?? [:]).filter { $0.value.aliases.contains(alias) }.keys.min()
        if let named { return collection(named) }
        switch alias {
        case "default", "login": return collection(home)
        case "session": return .session
        default: return nil
        }
    }

    func label(of group: String) -> String {
        if let label = records?[group]?.label, !label.isEmpty { return label }
        return group == home ? "Login" : group
    }

    var collectionPaths: [String] {
        let groups = [home] + groups.filter { $0 != home }
        return (groups.map(collection) + [.session]).map { ServiceObject.collection($0).path }
    }

    /// Returns the paths of a collection's items; none while it is locked.
    func paths(in group: String, _ list: ItemList) -> [String] {
        guard !closed.groups.contains(group) else { return [] }
        let collection = collection(group)
        return list.ids(in: group).map { ServiceObject.item(collection, $0).path }
    }

    /// - Returns: `nil` if the vault has changed since.
    func keep(_ records: [String: CollectionRecord], as moment: Moment) -> [String: CollectionRecord]? {
        guard moment == self.moment else { return nil }
        self.records = records
        return records
    }

    /// - Parameter record: `nil` for a collection that is gone.
    func note(_ record: CollectionRecord?, of group: String) {
        changes += 1
        records?[group] = record
    }

    /// Records that the vault was locked or unlocked, or both in succession.
    func turn(isUnlocked: Bool) {
        self.isUnlocked = isUnlocked
        if isUnlocked { wasOpened = true }
        era += 1
        forget()
    }

    /// Applies a change to the list, or keeps it for a list that is being read.
    func note(_ change: @escaping (inout ItemList) -> Void) {
        if var known = list.take() {
            change(&known)
            list = known
        } else {
            missed.append(change)
        }
    }

    /// Keeps a list that was read since, with the changes noted meanwhile, and returns the current one.
    func keep(_ list: ItemList, as moment: Moment) -> ItemList {
        guard moment.epoch == epoch else { return list }
        if let known = self.list { return known }
        var list = list
        for change in missed { change(&list) }
        (self.list, missed) = (list, [])
        return list
    }

    /// Returns whether a search of all collections finds an item. An item stored by a sandboxed application in its own
    /// group, possibly with the attributes of another program, is hidden from programs outside its sandbox, unless they
    /// search that collection.
    func trusts(_ item: ServedItem) -> Bool { isConfined || !AccessGroups.isApplication(item.group) }

    /// Keeps the task that follows the changes of the vault; it ends with the view.
    func keep(watching task: Task<Void, Never>) { watching = task }

    func close() {
        isClosed = true
        forget()
        watching?.cancel()
    }

    subscript(_ id: UUID) -> ServedItem? { cache[id] }

    /// Returns the collection of an item that is listed, or that a client has found: the list may have been read after
    /// the item was deleted.
    func group(of id: UUID) -> String? {
        if let group = list?.group(of: id) { return group }
        return cache[id]?.group
    }

    /// - Parameter moment: the moment of the view at which the item was requested.
    func keep(_ item: ServedItem, as moment: Moment) {
        guard moment == self.moment, isUnlocked else { return }
        if cache.updateValue(item, forKey: item.id) == nil { cached.append(item.id) }
        guard cached.count > 2 * VaultView.cacheLimit || cache.count > VaultView.cacheLimit else { return }
        for old in cached.prefix(VaultView.cacheLimit / 4) { cache[old] = nil }
        cached.removeFirst(VaultView.cacheLimit / 4)
    }

    /// Keeps an item that a client has stored.
    func keep(stored item: ServedItem, as moment: Moment) {
        let isCurrent = moment == self.moment
        drop(item.id)
        if isCurrent { keep(item, as: self.moment) }
    }

    /// Discards the cached item after a change.
    func drop(_ id: UUID) {
        cache[id] = nil
        changes += 1
    }
}

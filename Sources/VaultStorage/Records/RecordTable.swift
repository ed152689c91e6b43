// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// The current state of every item: the result of the log's operations.
///
/// Size: an operation changes the indexes, the sums and the kept versions together, at a fixed cost in memory an item.
package struct RecordTable: Sendable {
    private var arena = OperationArena()
    private var locations: [OperationArena.Location] = []
    private var free: [Int] = []
    private var places = PlaceTable()
    /// The last version of items deleted since the file was rewritten.
    private var deletedVersions: [ItemID: UInt64] = [:]
    /// Older versions kept of each item, oldest first; at most ``historyLimit``.
    package private(set) var past: [ItemID: [Operation]] = [:]
    /// Values that replication keeps regardless of the history limit: see ``KeptVersions``. Each is dropped when a
    /// newer record of its item no longer names it.
    package private(set) var kept: [ItemID: [Operation]] = [:]
    /// The number of older versions kept per item, from the vault's settings.
    package private(set) var historyLimit = 0
    /// The size of live boxes and operations, in bytes.
    package private(set) var liveBytes = 0
    /// Whether the file contains the box of a replaced or deleted value.
    package private(set) var hasSuperseded = false

    /// The places of the vault's own records.
    private(set) var ownPlaces: Set<Int> = []
    /// Whether items may carry clocks.
    var hasClocks: Bool
    /// The greatest stamp of this device carried by an item.
    private(set) var newestStamp: UInt64 = 0

    package init(hasClocks: Bool = false) { self.hasClocks = hasClocks }

    package var count: Int { places.count }

    /// The greatest place plus one.
    package var end: Int { locations.count }

    package subscript(place: Int) -> Operation? { read(place) { Operation(checked: $0) } }

    package func place(of id: ItemID) -> Int? { slot(of: id).map { places[$0] } }

    /// The record of the item.
    package subscript(id: ItemID) -> Operation? { place(of: id).flatMap { self[$0] } }

    /// Visits the class and the encoded attributes of every record.
    func forEach(_ body: (_ place: Int, ItemClass?, _ attributes: Span<UInt8>) -> Void) {
        for (place, location) in locations.enumerated() where !location.isNone {
            arena.read(location) { operation in
                body(
                    place, Operation.itemClass(of: operation),
                    operation.extracting(Layout.operationLength..<operation.count))
            }
        }
    }

    /// The records sorted by identifier, the order in which a rewrite stores them.
    var sortedPlaces: [(id: ItemID, place: Int)] {
        var places: [(id: ItemID, place: Int)] = []
        places.reserveCapacity(count)
        for (place, location) in locations.enumerated() where !location.isNone {
            places.append((arena.read(location) { Operation.id(of: $0) }, place))
        }
        places.sort { $0.id < $1.id }
        return places
    }

    private func slot(of id: ItemID) -> Int? {
        places.slot(of: id) { place in arena.read(locations[place]) { Operation.id(of: $0) } == id }
    }

    /// Applies an operation of the log.
    ///
    /// - Returns: the place that changed; `nil` for a kept older version.
    /// - Throws: `.invalid(.version)`, with nothing changed, since versions only increase.
    mutating func follow(_ operation: Span<UInt8>) throws(FormatError) -> Int? {
        let kind = Operation.kind(of: operation)
        guard kind != .past else {
            let past = Operation(checked: operation)
            if KeptVersions.isOne(past) { keepWhileNamed(past) } else { keep(past) }
            return nil
        }
        let (id, version) = (Operation.id(of: operation), Operation.version(of: operation))
        let slot = slot(of: id)
        if let slot {
            guard version > arena.read(locations[places[slot]], { Operation.version(of: $0) }) else {
                throw .invalid(.version)
            }
        } else {
            guard kind == .put, deletedVersions.isEmpty || version > deletedVersions[id] ?? 0 else {
                throw .invalid(.version)
            }
        }
        let place = apply(operation, at: slot)
        if let limit = VaultSettings.historyLimit(in: operation) { _ = setHistoryLimit(limit) }
        if !kept.isEmpty { dropUnnamed(by: operation) }
        return place
    }

    /// - Parameter slot: of the item, if present.
    private mutating func apply(_ operation: Span<UInt8>, at slot: Int?) -> Int? {
        let id = Operation.id(of: operation)
        switch Operation.kind(of: operation) {
        case .past: return nil
        case .delete:
            deletedVersions[id] = Operation.version(of: operation)
            guard let slot else { return nil }
            noteSuperseded(value(at: places[slot]), of: id)
            return empty(slot)
        case .put:
            if !deletedVersions.isEmpty { deletedVersions[id] = nil }
            if hasClocks { noteStamp(of: operation) }
            guard let slot else { return insert(operation, id) }
            let place = places[slot]
            let old = value(at: place)
            if Operation.value(of: operation) != old { noteSuperseded(old, of: id) }
            replace(place, with: operation)
            return place
        }
    }

    private mutating func noteSuperseded(_ value: ValueLocation?, of id: ItemID) {
        if value != nil, past[id]?.last?.value != value { hasSuperseded = true }
    }

    // MARK: Versions that replication keeps

    private mutating func noteStamp(of operation: Span<UInt8>) {
        let attributes = operation.extracting(Operation.attributes(of: operation))
        guard let (_, range) = EncodedAttributes.payload(of: .clock, in: attributes) else { return }
        newestStamp = max(newestStamp, ItemClock.own(of: attributes.extracting(range)))
    }

    private mutating func keepWhileNamed(_ past: Operation) {
        liveBytes += RecordTable.size(past.encoded().span)
        kept[past.id, default: []].append(past)
    }

    /// Drops kept versions that the new record of an item no longer names.
    private mutating func dropUnnamed(by operation: Span<UInt8>) {
        let id = Operation.id(of: operation)
        guard let before = kept[id] else { return }
        let after = KeptVersions.named(by: operation, of: before)
        guard after.count < before.count else { return }
        setKept(after, of: id)
        if before.contains(where: { $0.value != nil }) { hasSuperseded = true }
    }

    private mutating func setKept(_ versions: [Operation], of id: ItemID) {
        func size(_ versions: [Operation]) -> Int { versions.reduce(0) { $0 + RecordTable.size($1.encoded().span) } }
        liveBytes += size(versions) - size(kept[id] ?? [])
        kept[id] = versions.isEmpty ? nil : versions
    }

    // MARK: History

    /// The greatest version that the item has had, as far as the file shows.
    package func lastVersion(of id: ItemID) -> UInt64 {
        let current = slot(of: id).map { arena.read(locations[places[$0]]) { Operation.version(of: $0) } }
        return max(current ?? 0, deletedVersions[id] ?? 0, past[id]?.last?.version ?? 0)
    }

    /// Adds an older version; the oldest may be dropped for it.
    ///
    /// - Returns: the dropped versions.
    @discardableResult
    private mutating func keep(_ operation: Operation) -> [Operation] {
        liveBytes += RecordTable.size(operation, beside: past[operation.id]?.last)
        past[operation.id, default: []].append(operation)
        return prune(operation.id)
    }

    private mutating func prune(_ id: ItemID) -> [Operation] {
        guard let versions = past[id], versions.count > historyLimit else { return [] }
        let dropped = Array(versions.dropLast(historyLimit))
        past[id] = historyLimit == 0 ? nil : Array(versions.suffix(historyLimit))
        for index in dropped.indices {
            liveBytes -= RecordTable.size(
                dropped[index], beside: index + 1 < versions.count ? versions[index + 1] : nil)
        }
        if dropped.contains(where: { $0.value != nil }) { hasSuperseded = true }
        return dropped
    }

    private mutating func setHistoryLimit(_ limit: Int) -> [Operation] {
        historyLimit = limit
        return past.keys.flatMap { prune($0) }
    }

    /// Fills in the location of an older version's value, which was just written.
    mutating func setPastOffset(_ offset: UInt64, of version: VersionKey) {
        if let index = kept[version.id]?.lastIndex(where: { $0.version == version.version }) {
            kept[version.id]?[index].value?.offset = offset
        }
        guard let index = past[version.id]?.lastIndex(where: { $0.version == version.version }) else { return }
        past[version.id]?[index].value?.offset = offset
    }

    // MARK: Rolling back

    /// The data for undoing a change.
    struct Undo {
        var id: ItemID
        var place: Int?
        var old: Operation?
        var deletedVersion: UInt64?
        var hadSuperseded: Bool
        var isPast: Bool
        var historyLimit: Int
        /// Older versions that were dropped.
        var dropped: [Operation] = []
        /// The kept versions of the item before the change, if it affects them.
        var kept: [Operation]?
    }

    /// Applies an operation of this process, which may be undone.
    mutating func stage(_ operation: Span<UInt8>) -> Undo {
        let id = Operation.id(of: operation)
        let slot = slot(of: id)
        var undo = Undo(
            id: id, old: slot.flatMap { self[places[$0]] },
            deletedVersion: deletedVersions.isEmpty ? nil : deletedVersions[id],
            hadSuperseded: hasSuperseded, isPast: Operation.kind(of: operation) == .past, historyLimit: historyLimit)
        if undo.isPast {
            let past = Operation(checked: operation)
            if KeptVersions.isOne(past) {
                undo.kept = kept[id] ?? []
                keepWhileNamed(past)
            } else {
                undo.dropped = keep(past)
            }
            return undo
        }
        undo.place = apply(operation, at: slot)
        if let limit = VaultSettings.historyLimit(in: operation) { undo.dropped = setHistoryLimit(limit) }
        if !kept.isEmpty, let before = kept[id] {
            undo.kept = before
            dropUnnamed(by: operation)
        }
        return undo
    }

    /// Undoes the newest change.
    mutating func revert(_ undo: Undo) {
        hasSuperseded = undo.hadSuperseded
        historyLimit = undo.historyLimit
        if let before = undo.kept {
            setKept(before, of: undo.id)
            if undo.isPast { return }
        }
        // With a limit of 0, the added version is among the dropped ones.
        if undo.isPast, let newest = past[undo.id]?.popLast() {
            liveBytes -= RecordTable.size(newest, beside: past[undo.id]?.last)
        }
        for version in undo.dropped.reversed() where !undo.isPast || historyLimit > 0 {
            liveBytes += RecordTable.size(version, beside: past[version.id]?.first)
            past[version.id, default: []].insert(version, at: 0)
        }
        if past[undo.id]?.isEmpty == true { past[undo.id] = nil }
        guard !undo.isPast else { return }
        deletedVersions[undo.id] = undo.deletedVersion
        guard let old = undo.old, let place = undo.place else {
            if let slot = slot(of: undo.id) { empty(slot) }
            return
        }
        let encoded = old.encoded()
        if locations[place].isNone {
            // Changes are undone newest first, so the last freed place is this one.
            free.removeLast()
            places.insert(undo.id, place: place)
            if old.itemClass == nil { ownPlaces.insert(place) }
            locations[place] = arena.append(encoded.span)
            liveBytes += RecordTable.size(encoded.span)
        } else {
            replace(place, with: encoded.span)
        }
    }

    /// Fills in the location of a value that was just written.
    mutating func setOffset(_ offset: UInt64, at place: Int) {
        if hasValue(at: place) { arena.setOffset(offset, at: locations[place]) }
    }

    // MARK: Rewriting

    /// Lends the encoded record at a place.
    func read<R>(_ place: Int, _ body: (Span<UInt8>) -> R) -> R? {
        locations[place].isNone ? nil : arena.read(locations[place], body)
    }

    /// The encoded record at a place, without a copy.
    func encoded(at place: Int) -> ArraySlice<UInt8>? {
        locations[place].isNone ? nil : arena.slice(at: locations[place])
    }

    /// Updates the locations of values after a rewrite.
    ///
    /// - Returns: `false` if there is a value that the rewrite does not know; the table is unusable then.
    mutating func move(to moved: MovedValues) -> Bool {
        for (place, location) in locations.enumerated() where !location.isNone {
            let (id, version, old, hasValue) = arena.read(location) {
                (Operation.id(of: $0), Operation.valueVersion(of: $0), Operation.offset(of: $0), Operation.hasValue($0))
            }
            guard hasValue else { continue }
            if let later = moved.later.isEmpty ? nil : moved.later[id], later.version == version {
                arena.setOffset(later.offset, at: location)
            } else if place < moved.places.count, moved.places[place].old == old {
                arena.setOffset(moved.places[place].new, at: location)
            } else {
                return false
            }
        }
        for (id, versions) in past {
            for (index, version) in versions.enumerated() where version.value != nil {
                guard let way = moved.past[VersionKey(version)], version.value?.offset == way.old else { return false }
                past[id]?[index].value?.offset = way.new
            }
        }
        for (id, versions) in kept {
            for (index, version) in versions.enumerated() where version.value != nil {
                guard let way = moved.past[VersionKey(version)], version.value?.offset == way.old else { return false }
                kept[id]?[index].value?.offset = way.new
            }
        }
        deletedVersions = deletedVersions.filter { moved.deleted.contains($0.key) }
        hasSuperseded = moved.hasSuperseded
        return true
    }

    // MARK: Places

    private func value(at place: Int) -> ValueLocation? {
        locations[place].isNone ? nil : arena.read(locations[place]) { Operation.value(of: $0) }
    }

    private func hasValue(at place: Int) -> Bool { value(at: place) != nil }

    private mutating func insert(_ operation: Span<UInt8>, _ id: ItemID) -> Int {
        let place = free.popLast() ?? locations.count
        if place == locations.count { locations.append(.none) }
        locations[place] = arena.append(operation)
        places.insert(id, place: place)
        liveBytes += RecordTable.size(operation)
        if Operation.itemClass(of: operation) == nil { ownPlaces.insert(place) }
        return place
    }

    private mutating func replace(_ place: Int, with operation: Span<UInt8>) {
        discard(place)
        locations[place] = arena.append(operation)
        liveBytes += RecordTable.size(operation)
        tidy()
    }

    @discardableResult
    private mutating func empty(_ slot: Int) -> Int {
        let place = places[slot]
        if !ownPlaces.isEmpty { ownPlaces.remove(place) }
        places.remove(slot)
        discard(place)
        locations[place] = .none
        free.append(place)
        tidy()
        return place
    }

    private mutating func discard(_ place: Int) {
        liveBytes -= arena.read(locations[place]) { RecordTable.size($0) }
        arena.discard(locations[place])
    }

    /// Compacts the arena when more than half of it is waste.
    private mutating func tidy() {
        guard arena.waste > 1 << 20, arena.waste * 2 > arena.length else { return }
        var fresh = OperationArena()
        for (place, location) in locations.enumerated() where !location.isNone {
            locations[place] = arena.read(location) { fresh.append($0) }
        }
        arena = fresh
    }

    private static func size(_ operation: Span<UInt8>) -> Int { operation.count + Operation.boxLength(of: operation) }

    /// - Parameter neighbour: the version before or after, which may share its value.
    private static func size(_ operation: Operation, beside neighbour: Operation?) -> Int {
        let value = operation.value == neighbour?.value ? 0 : Int(operation.value?.length ?? 0)
        return Layout.operationLength + operation.attributes.bytes.count + value
    }
}

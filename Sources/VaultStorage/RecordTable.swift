// SPDX-License-Identifier: Apache-2.0
public import VaultFormat

/// Hears of every change of the table, in order, to keep an index.
public protocol RecordObserver: AnyObject {
    /// - Parameter place: the record's place in the table, which stays the same for the life of the item in this handle.
    func record(at place: Int, changedFrom old: Operation?, to new: Operation?)
    /// Everything is forgotten; what follows starts from an empty table.
    func recordsWereReset()
}

/// The current state of every item: what the operations of the log add up to.
public struct RecordTable {
    private var records: [Operation?] = []
    private var free: [Int] = []
    private var places: [ItemID: Int] = [:]
    /// The last version of items that were deleted since the file was rewritten.
    private var deletedVersions: [ItemID: UInt64] = [:]
    /// Kept older versions, as they came.
    public private(set) var past: [Operation] = []
    /// Boxes and operations that are still needed, in bytes.
    public private(set) var liveBytes = 0
    /// Whether the file holds the box of a value that was replaced or deleted.
    public private(set) var hasSuperseded = false

    public init() {}

    public var count: Int { places.count }

    /// One more than the greatest place.
    public var end: Int { records.count }

    public subscript(place: Int) -> Operation? { records[place] }

    public func place(of id: ItemID) -> Int? { places[id] }

    public func forEach(_ body: (Int, Operation) -> Void) {
        for (place, record) in records.enumerated() {
            if let record { body(place, record) }
        }
    }

    /// The records in the order of their identifiers, in which a rewrite lays them down.
    public var sorted: [Operation] { records.compactMap(\.self).sorted { $0.id < $1.id } }

    /// Whether the operation may follow what is here: versions only rise, and what it says of an unchanged value is so.
    func accepts(_ operation: Operation) -> Bool {
        if operation.kind == .past { return true }
        guard let place = places[operation.id], let current = records[place] else {
            return operation.kind == .put && operation.version > deletedVersions[operation.id] ?? 0
        }
        return operation.version > current.version
    }

    /// What takes a change back.
    struct Undo {
        var place: Int
        var old: Operation?
        var deletedVersion: UInt64?
        var id: ItemID
        var hadSuperseded: Bool
        var addedPast: Bool
    }

    /// Applies an operation that ``accepts(_:)`` let through; returns what it did.
    @discardableResult
    mutating func apply(_ operation: Operation) -> Undo {
        var undo = Undo(
            place: 0, old: nil, deletedVersion: deletedVersions[operation.id], id: operation.id, hadSuperseded: hasSuperseded,
            addedPast: false)
        if operation.kind == .past {
            past.append(operation)
            liveBytes += RecordTable.size(operation)
            undo.addedPast = true
            return undo
        }
        let old = places[operation.id].flatMap { records[$0] }
        if let old {
            liveBytes -= RecordTable.size(old)
            if let value = old.value, operation.value != value { hasSuperseded = true }
        }
        undo.old = old
        if operation.kind == .delete {
            if let place = places.removeValue(forKey: operation.id) {
                undo.place = place
                records[place] = nil
                free.append(place)
            }
            deletedVersions[operation.id] = operation.version
            return undo
        }
        liveBytes += RecordTable.size(operation)
        deletedVersions[operation.id] = nil
        if let place = places[operation.id] {
            records[place] = operation
            undo.place = place
        } else if let place = free.popLast() {
            records[place] = operation
            places[operation.id] = place
            undo.place = place
        } else {
            undo.place = records.count
            places[operation.id] = records.count
            records.append(operation)
        }
        return undo
    }

    /// Takes the newest change back.
    mutating func revert(_ undo: Undo) {
        hasSuperseded = undo.hadSuperseded
        if undo.addedPast {
            liveBytes -= RecordTable.size(past.removeLast())
            return
        }
        if let current = places[undo.id].flatMap({ records[$0] }) { liveBytes -= RecordTable.size(current) }
        deletedVersions[undo.id] = undo.deletedVersion
        if let old = undo.old {
            liveBytes += RecordTable.size(old)
            // Changes are taken back newest first, so the place that was freed last is this one.
            if places[undo.id] == nil { free.removeLast() }
            records[undo.place] = old
            places[undo.id] = undo.place
        } else if let place = places.removeValue(forKey: undo.id) {
            records[place] = nil
            free.append(place)
        }
    }

    /// Fills in where a value that was just written lies.
    mutating func setOffset(_ offset: UInt64, at place: Int) { records[place]?.value?.offset = offset }

    private static func size(_ operation: Operation) -> Int {
        Layout.operationLength + operation.attributes.bytes.count + Int(operation.value?.length ?? 0)
    }
}

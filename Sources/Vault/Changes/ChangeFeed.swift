// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultFormat
internal import VaultStorage

/// Reports changes of the records to subscribers. Used only by the thread that holds the vault.
///
/// A change is recorded when the table changes and published when its commit is complete, so changes that were staged
/// and rolled back are not reported.
final class ChangeFeed: RecordObserver {
    private struct Reader {
        let buffer: ChangeBuffer
        /// A query for each watched class.
        let queries: [ParsedQuery]

        func change(_ old: Record?, _ new: Record?, _ sequence: UInt64, _ isAbsent: (Record) -> Bool) -> ItemChange? {
            func matches(_ record: Record?) -> Bool {
                guard let record, !isAbsent(record) else { return false }
                let encoded = record.encoded()
                return queries.contains { $0.matches(encoded.span) }
            }
            guard let record = new ?? old, old?.version != new?.version else { return nil }
            let kind: ItemChange.Kind
            switch (matches(old), matches(new)) {
            case (false, true): kind = .added
            case (true, true): kind = .updated
            case (true, false): kind = .deleted
            case (false, false): return nil
            }
            return ItemChange(kind, itemClass: record.itemClass, id: UUID(record.id), sequence: sequence)
        }
    }

    private var readers: [UInt64: Reader] = [:]
    private var nextReader: UInt64 = 0
    /// Each record as last published and as it is now, in the order of the first change.
    private var changed: [ItemID: (old: Record?, new: Record?)] = [:]
    private var order: [ItemID] = []
    private var wasReset = false
    private var failure: VaultError?

    var isIndexing: Bool { !readers.isEmpty }

    var hasReaders: Bool { !readers.isEmpty }

    // MARK: Recording

    func record(at place: Int, changedFrom old: Record?, to new: Record?) {
        guard !wasReset, let id = (new ?? old)?.id, (new ?? old)?.itemClass != nil else { return }
        if let before = changed[id] {
            changed[id] = (before.old, new)
        } else {
            changed[id] = (old, new)
            order.append(id)
            // Beyond the maximum that is reported one by one.
            if order.count > ChangeBuffer.most { recordsWereReset() }
        }
    }

    func recordsWereReset() {
        wasReset = true
        (changed, order) = ([:], [])
    }

    // MARK: Readers

    func add(_ buffer: ChangeBuffer, _ queries: [ParsedQuery]) -> UInt64 {
        nextReader += 1
        readers[nextReader] = Reader(buffer: buffer, queries: queries)
        return nextReader
    }

    func remove(_ reader: UInt64) { readers[reader] = nil }

    /// Publishes the changes of a completed commit.
    ///
    /// - Parameter isAbsent: whether an item belongs to another device.
    func publish(_ sequence: UInt64, isAbsent: (Record) -> Bool) {
        let cameBack = failure != nil
        failure = nil
        guard wasReset || cameBack || !order.isEmpty else { return }
        defer { (changed, order, wasReset) = ([:], [], false) }
        for reader in readers.values {
            guard !wasReset, !cameBack else {
                reader.buffer.offer(ItemChange(.many, sequence: sequence))
                continue
            }
            for id in order {
                guard let (old, new) = changed[id], let change = reader.change(old, new, sequence, isAbsent) else {
                    continue
                }
                reader.buffer.offer(change)
            }
        }
    }

    func publish(_ kind: ItemChange.Kind, _ sequence: UInt64) {
        for reader in readers.values { reader.buffer.offer(ItemChange(kind, sequence: sequence)) }
    }

    /// Reports once that the vault cannot be read. Returns `false` if that error was already reported.
    func fail(_ error: VaultError, _ sequence: UInt64) -> Bool {
        guard failure != error else { return false }
        failure = error
        publish(.failed(error), sequence)
        return true
    }

    func end(_ sequence: UInt64) {
        publish(.failed(.closed), sequence)
        for reader in readers.values { reader.buffer.end() }
        readers = [:]
    }
}

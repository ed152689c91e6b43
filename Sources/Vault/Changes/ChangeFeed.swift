// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultFormat
internal import VaultStorage

/// What changes of the records, for those who asked to hear of it. Used by the thread that has the vault alone.
///
/// A change is noted when the table changes, and told when the commit is there that brought it: what was staged and
/// taken back comes to nothing.
final class ChangeFeed: RecordObserver {
    private struct Reader {
        let buffer: ChangeBuffer
        /// One for each class that is looked at.
        let queries: [ParsedQuery]

        func change(
            _ old: Record?, _ new: Record?, _ sequence: UInt64, _ isAbsent: (Record) -> Bool
        ) -> ItemChange? {
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
    /// Each record as it was told last, and as it is now, in the order of the first change.
    private var changed: [ItemID: (old: Record?, new: Record?)] = [:]
    private var order: [ItemID] = []
    private var wasReset = false
    private var failure: VaultError?

    var isIndexing: Bool { !readers.isEmpty }

    var hasReaders: Bool { !readers.isEmpty }

    // MARK: What changes

    func record(at place: Int, changedFrom old: Record?, to new: Record?) {
        guard !wasReset, let id = (new ?? old)?.id, (new ?? old)?.itemClass != nil else { return }
        if let before = changed[id] {
            changed[id] = (before.old, new)
        } else {
            changed[id] = (old, new)
            order.append(id)
            // More than any reader is told one by one.
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

    /// Tells what has changed, now that it is there.
    ///
    /// - Parameter isAbsent: whether an item is another device's.
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

    /// Says once that the vault cannot be looked at. Returns false when that was said.
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

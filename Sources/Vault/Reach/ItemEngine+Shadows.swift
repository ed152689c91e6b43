// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

extension ItemEngine {
    /// Live records with the primary key of this one, including itself and hidden ones.
    func live(like record: Record) throws(VaultError) -> [Record] {
        guard let itemClass = record.itemClass else { return [] }
        return try live(like: record, itemClass, among: candidates(like: record, itemClass))
    }

    private func candidates(like record: Record, _ itemClass: ItemClass) -> Candidates {
        index.candidates(of: itemClass, record.attributes.bytes.span, in: records)
    }

    private func live(
        like record: Record, _ itemClass: ItemClass, among candidates: Candidates
    ) throws(VaultError) -> [Record] {
        let key = PrimaryKey(of: record, itemClass)
        var found: [Record] = []
        for place in candidates.places {
            guard let other = records.record(at: place), other.itemClass == itemClass, !other.isTombstone,
                PrimaryKey(of: other, itemClass) == key, try !records.isAbsentHere(other)
            else { continue }
            found.append(other)
        }
        return found
    }

    /// Decides, after a join, which of several items with one primary key the verbs see: the same on every device.
    ///
    /// An item that exists on this device only keeps the key here; the fleet's items are then hidden from the verbs
    /// here and visible on all other devices.
    func settleShadows(like record: Record, _ logs: LogNumbers, in session: inout WriteSession) throws(VaultError) {
        guard let itemClass = record.itemClass else { return }
        let candidates = candidates(like: record, itemClass)
        if isAloneAndSeen(record, candidates) { return }
        let live = try live(like: record, itemClass, among: candidates)
        let own = live.contains { !$0.hasClock }
        let shared = live.filter(\.hasClock)
        let first = shared.map { KeyRank($0, logs) }.max()
        for item in shared {
            let shadow: Shadow? = KeyRank(item, logs) != first ? .byTwin : own ? .hereOnly : nil
            guard item.shadow != shadow else { continue }
            var changed = item
            changed.version += 1
            changed.setShadow(shadow)
            _ = try session.stage(changed, .keep)
        }
    }

    /// The written item, after deciding which of those with its primary key the verbs see.
    ///
    /// An item of this device only that joins the fleet hides everywhere the fleet's items that it has hidden here. And
    /// a clock that is behind gives a write a lower stamp than the one it replaces, so another item may win.
    func settled(_ new: Record, after old: Record, in session: inout WriteSession) throws(VaultError) -> Record {
        guard new.hasClock, !old.hasClock || !shadowed(like: new).isEmpty else { return new }
        try settleShadows(like: new, records.logs(), in: &session)
        return records.place(of: new.id).flatMap { records.record(at: $0) } ?? new
    }

    /// Whether the verbs see this item and no other can have its primary key, which is the usual case.
    private func isAloneAndSeen(_ record: Record, _ candidates: Candidates) -> Bool {
        guard candidates.count == 1, let place = candidates.places.first(where: { _ in true }),
            let only = records.record(at: place)
        else { return false }
        return only.id == record.id && !only.isHidden
    }
}

extension Record {
    var shadow: Shadow? {
        guard case .integer(let number)? = attributes[.shadow] else { return nil }
        return Shadow(rawValue: number)
    }
}

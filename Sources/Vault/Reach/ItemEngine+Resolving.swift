// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

extension ItemEngine {
    func resolve(
        _ id: ItemID, _ label: String, _ index: Int, _ viewer: Viewer,
        in session: inout WriteSession
    ) throws(VaultError) {
        guard isVisible(id, to: viewer.groups), let place = records.place(of: id),
            let record = records.record(at: place),
            !record.isTombstone, record.hasClock
        else { throw .itemNotFound }
        guard records.canUse(record.protection) else { throw .locked }
        try record.checkPresence(viewer)
        if label == "shadow" { return try resolveShadow(record, index, in: &session) }
        let logs = try records.logs()
        guard var state = try state(of: record, logs),
            let field = state.fields.keys.first(where: { $0.label == label && (state.fields[$0]?.count ?? 0) > 1 }),
            let own = records.ownLog, let log = logs[own.number]
        else { throw .itemNotFound }
        let listed = try distinct(state.fields[field] ?? [:], of: field, record.itemClass)
        guard listed.indices.contains(index - 1) else { throw .parameter(.limit) }
        var kept = listed[index - 1].value
        if case .secret(let sealed) = kept { kept = .secret(.given(try open(sealed))) }
        let dot = Dot(log: log, stamp: records.nextStamp())
        state.fields[field] = [dot: kept]
        state.fields[.life] = [dot: .plain([1])]
        state.context[log] = dot.stamp
        if field == .primaryKey { try checkKeyIsFree(state, record) }
        var numbers = logs
        let fresh = try put(JoinedItem(state), told: 0, erased: 0, own, &numbers, in: &session).new
        try settleShadows(like: record, numbers, in: &session)
        try settleShadows(like: fresh, numbers, in: &session)
    }

    private func checkKeyIsFree(_ state: ItemState<ReplicaSecret>, _ record: Record) throws(VaultError) {
        guard let bytes = state.fields[.primaryKey]?.values.first?.plainBytes,
            let key = try? EncodedAttributes(parsing: bytes, bytes.indices)
        else { return }
        let parsed = ParsedItem(
            itemClass: state.itemClass, protection: record.protection, values: key.values, user: [:])
        if let twin = try twins(of: parsed, except: state.id).own, !twin.isTombstone { throw .duplicateItem }
    }

    /// Deletes one of two items with one primary key, on all devices that know it.
    private func resolveShadow(_ record: Record, _ index: Int, in session: inout WriteSession) throws(VaultError) {
        // Another process may have resolved the conflict meanwhile.
        guard record.isHidden else { throw .itemNotFound }
        var rivals = try rivals(of: record)
        guard rivals.indices.contains(index - 1) else { throw .parameter(.limit) }
        let kept = rivals.remove(at: index - 1)
        for other in rivals {
            try remember(other, isDeleted: true, in: &session)
            if other.hasClock { try bury(other, .hereOnly, in: &session) } else { try remove(other, in: &session) }
        }
        if kept.isHidden { try giveKey(to: kept, in: &session) }
        // A third item stays hidden, now by the kept one.
        try settleShadows(like: record, records.logs(), in: &session)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent

// Conflicts arise between devices, and concern the items of every group.

extension ConflictsRequest: WholeRequest, VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [ConflictReply] {
        let conflicts = try answers.use(caller) { vault throws(VaultError) in try vault.conflicts() }
        let stored = conflicts.compactMap { StoredConflict($0) }
        guard stored.allSatisfy(\.fits) else { throw .unimplemented }
        try answers.audit?.note(value ? .reveal : .find, conflicts.map(\.item), by: caller)
        return stored.map { ConflictReply($0) } + [ConflictReply(nil)]
    }
}

extension ResolveConflictRequest: WholeRequest, VaultRequest {
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        let id = UUID(bytes: key.id)
        try answers.use(caller) { vault throws(VaultError) in
            let conflict = try vault.conflicts().first { $0.item.record?.id == id && $0.field == field }
            guard let conflict, number >= 1, Int(number) <= conflict.values.count,
                conflict.values[Int(number) - 1].time == time
            else { throw .itemChanged }
            try vault.resolveConflict(of: id, field: field, keeping: Int(number))
        }
        try answers.afterwards { audit throws(VaultError) in try audit.note(.update, key.id, by: caller) }
        return [DoneReply()]
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

// The items that a name means.

extension ItemEngine {
    /// The groups in which a name is looked for, one after the other, with all rules in each.
    private enum Scope {
        /// The group that the query names.
        case named
        case first(String)
        /// All other groups but those of applications, each of which can store anything under the name that the user's
        /// tools ask for.
        case others(than: String?)
    }

    /// Returns the items that the query's name means, the last changed first.
    ///
    /// - Throws: `.locked`, `.presenceRequired` for an item that a rule finds: it is no reason for the next rule.
    func items(
        named name: ItemName, _ query: Query, _ viewer: Viewer, for source: any SecretSource
    ) throws(VaultError) -> [Item] {
        let first = viewer.groups.first
        let isNamed = query.attributes[.accessGroup] != nil
        for scope in isNamed ? [Scope.named] : (first.map { [.first($0)] } ?? []) + [.others(than: first)] {
            for rule in name.orderedRules {
                var found = try records(named: name, by: rule, query, scope, viewer, source)
                if query.leavesOutLocked { found.removeAll { !records.canUse($0.protection) } }
                guard !found.isEmpty else { continue }
                guard found.allSatisfy({ records.canUse($0.protection) }) else { throw .locked }
                for record in found { try record.checkPresence(viewer) }
                var items = found.map { Item($0, source) }.lastChangedFirst
                if query.returnsSecrets, found.count == 1 { try open(&items[0], of: found[0]) }
                return items
            }
        }
        throw .itemNotFound
    }

    private func records(
        named name: ItemName, by rule: ItemName.Rules, _ query: Query, _ scope: Scope, _ viewer: Viewer,
        _ source: any SecretSource
    ) throws(VaultError) -> [Record] {
        var query = query
        query.name = nil
        query.limit = .all
        if case .first(let group) = scope { query.attributes[.accessGroup] = .string(group) }
        var found: [Record] = []
        for itemClass in query.itemClass.map({ [$0] }) ?? [.genericPassword, .internetPassword]
        where query.attributes.keys.allSatisfy({ $0.belongs(to: itemClass) }) {
            var query = query
            query.itemClass = itemClass
            switch rule {
            case .place:
                guard let attribute = itemClass.place else { continue }
                query.attributes[attribute] = .string(name.text)
            case .title: query.face = .title(name.text)
            default:
                guard let host = name.host?.withoutWWW else { continue }
                query.face = .hosts([host, "www." + host])
            }
            for record in try ParsedQuery(query, groups: viewer.groups).find(in: records, index)
            where name.means(ItemFace(Item(record, source)), by: rule) && isIn(scope, record, viewer) {
                found.append(record)
            }
        }
        return found
    }

    private func isIn(_ scope: Scope, _ record: Record, _ viewer: Viewer) -> Bool {
        guard case .others(let first) = scope, let group = record.text(of: .accessGroup) else { return true }
        return group != first
            && (!AccessGroups.isApplication(group) || viewer.groups.names?.contains(Array(group.utf8)) == true)
    }
}

extension ItemClass {
    /// The attribute with the place of an item that a name may mean.
    fileprivate var place: Attribute? {
        switch self {
        case .genericPassword: .service
        case .internetPassword: .server
        case .certificate, .key: nil
        }
    }
}

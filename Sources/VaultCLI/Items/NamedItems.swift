// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

extension AccessGroups {
    /// Returns the items that a name means: those of the first group, and only if there are none those of the others.
    ///
    /// A sandboxed application can store anything in its own group, such as a credential under the name that the
    /// user's tools ask for: such a group counts only if the user names it.
    ///
    /// - Parameters:
    ///   - queries: one for each class, without a group.
    ///   - takesEveryClass: whether to return the items of all classes, rather than those of the first that has any.
    ///   - missing: the error if there are none.
    ///   - find: looks in the vault, for existing items or for deleted ones.
    func items(
        matching queries: [Query], takesEveryClass: Bool, missing: @autoclosure () -> CommandError,
        _ find: (Query) throws(VaultError) -> [Item]
    ) throws -> [Item] {
        var isConfined = false
        var passedOver: Set<String> = []
        for group in (first.map { [$0] } ?? []) + [nil] {
            var found: [Item] = []
            for var query in queries where takesEveryClass || found.isEmpty {
                query.attributes[.accessGroup] = group.map(AttributeValue.string)
                // The secret of an item that is passed over is not released.
                if group == nil { query.returnsSecrets = false }
                do throws(VaultError) {
                    for item in try find(query) {
                        if let name = item.applicationGroup, group == nil, !isConfined, !list.contains(name) {
                            passedOver.insert(name)
                        } else {
                            found.append(item)
                        }
                    }
                } catch {
                    // A rule of the agent names other groups for this program.
                    guard error == .accessGroupDenied, group != nil else { throw error }
                    isConfined = true
                }
            }
            if !found.isEmpty { return found }
        }
        var failure = missing()
        if let name = passedOver.min() {
            failure.hint = "an application has stored one of that name: --group '\(name)'"
        }
        throw failure
    }
}

extension Item {
    /// The access group, if it is a sandboxed application's.
    var applicationGroup: String? { self[.accessGroup]?.text.flatMap { AccessGroups.isApplication($0) ? $0 : nil } }
}

extension Query {
    func with<Value>(_ property: WritableKeyPath<Query, Value>, _ value: Value) -> Query {
        var query = self
        query[keyPath: property] = value
        return query
    }

    /// The query without the items for which the vault must be unlocked, or a person be asked.
    var withoutQuestions: Query { with(\.leavesOutLocked, true).with(\.presence, .leftOut) }
}

// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// The error for a name that means no item.
enum MissingItem {
    static func error(
        _ name: ItemName, _ itemClass: ClassOption? = nil, _ message: String = "no such item",
        in store: any ItemStore
    ) -> CommandError {
        let classes = itemClass.map { [$0.itemClass] } ?? [.genericPassword, .internetPassword]
        let hint = applicationHint(name, classes, in: store) ?? NearMiss.hint(name, classes, in: store)
        return CommandError(.notFound, message, hint: hint)
    }

    /// A sandboxed application can store anything in its own group, such as a credential under the name that the
    /// user's tools ask for: such a group counts only if the user names it.
    private static func applicationHint(_ name: ItemName, _ classes: [ItemClass], in store: any ItemStore) -> String? {
        let items = classes.flatMap { itemClass in
            let place: Attribute = itemClass == .internetPassword ? .server : .service
            return (try? store.allMatching(Query(itemClass, attributes: [place: .string(name.text)]).withoutQuestions))
                ?? []
        }
        let groups = name.meant(among: items).compactMap(\.applicationGroup)
        return groups.min().map { "an application has stored one of that name: --group '\($0.printable)'" }
    }
}

extension [Item] {
    /// Returns the only item.
    ///
    /// - Throws: code 12, with a list, if there are several.
    func only(hint: String = "name the account") throws -> Item {
        guard count != 1 else { return self[0] }
        let most = 10
        // A prefix that two items share would name neither.
        let ids = compactMap { $0.record?.shortID(digits: 32) }
        let digits = (8...32).first { digits in Set(ids.map { $0.prefix(digits) }).count == ids.count } ?? 32
        let rows = prefix(most).map { item in
            let face = ItemFace(item)
            return [
                item.record?.shortID(digits: digits) ?? "", face.title, face.user, ClassOption(item.itemClass).rawValue,
                item[.accessGroup]?.text ?? "", (item.record?.modified).map { Time($0).text } ?? "",
            ].map(\.printable).joined(separator: "  ")
        }
        let rest = count > most ? ["and \((count - most).grouped) more"] : []
        throw CommandError(
            .ambiguous, "\(count.grouped) items match",
            hint: ([hint + ":"] + rows + rest).joined(separator: "\n  "))
    }
}

extension Item {
    /// The access group, if it is a sandboxed application's.
    var applicationGroup: String? { self[.accessGroup]?.text.flatMap { AccessGroups.isApplication($0) ? $0 : nil } }

    /// Whether the item is in a group that a name looks in: no application's but one that the caller names.
    func isOfUser(_ groups: AccessGroups) -> Bool { applicationGroup.map(groups.list.contains) ?? true }

    /// The error for a change of an item in a group other than the one that new items are added to.
    var isElsewhere: CommandError {
        .usage(
            "there is such an item in another access group alone",
            hint: "if it is meant: --group '\((self[.accessGroup]?.text ?? "").printable)'")
    }
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

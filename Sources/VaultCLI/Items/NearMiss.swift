// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault

/// Suggestions for the name of an item, a field or an attribute that does not exist.
enum NearMiss {
    private static let most = 10

    /// - Parameters:
    ///   - classes: the classes that were searched.
    ///   - store: a store with the items accessible to the caller. Locked items, and those that require consent, are
    ///     skipped.
    /// - Returns: `nil` without a terminal: scripts only use the exit code, and should not pay for a look at every
    ///   item.
    static func hint(_ name: ItemName, _ classes: [ItemClass], in store: any ItemStore) -> String? {
        guard Terminal.isTerminal(STDERR_FILENO) else { return nil }
        let items = classes.flatMap { (try? store.allMatching(Query($0).withoutQuestions)) ?? [] }
            .filter { $0.applicationGroup == nil }
        let others = ItemName(name.text, name.rules).meant(among: items)
        guard others.isEmpty || name.account == nil else {
            return "its accounts: " + list(others.map { ItemFace($0).user })
        }
        let names = items.flatMap { item in
            let face = ItemFace(item)
            return name.rules.contains(.title) ? [face.place, item.label ?? face.place] : [face.place]
        }
        return Suggestion.question(Suggestion.names(like: name.text, among: names))
    }

    /// - Parameter field: the field; `nil` for the secret itself.
    static func hint(field: String?, of item: Item) -> String? {
        let names = ItemFace(item).fieldNames
        guard !names.isEmpty else { return nil }
        let question = field.flatMap { Suggestion.question(Suggestion.names(like: $0, among: names)) }
        return question ?? "its fields: " + list(names)
    }

    static func hint(attribute: String, of item: Item) -> String? {
        guard !item.fieldNames.contains(attribute) else { return "it is the name of a field: --field" }
        return Suggestion.question(
            Suggestion.names(like: attribute, among: Item.attributeNames + item.userAttributes.keys))
    }

    private static func list(_ names: [String]) -> String {
        let sorted = Set(names).sorted()
        let rest = sorted.count > most ? " and \((sorted.count - most).grouped) more" : ""
        return sorted.prefix(most).map { "'\($0.printable)'" }.joined(separator: ", ") + rest
    }
}

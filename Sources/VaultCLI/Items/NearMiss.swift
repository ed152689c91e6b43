// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault

/// What may have been meant by the name of an item, a field or an attribute that is not there.
enum NearMiss {
    private static let most = 10

    /// - Parameters:
    ///   - classes: those in which the item was looked for.
    ///   - store: has what the caller may see. What is locked, or takes a person, is not looked at.
    /// - Returns: nil without a terminal: a script acts on the exit code, and does not pay for a look at every item.
    static func hint(
        _ service: String, _ account: String?, _ classes: [ItemClass], in store: any ItemStore
    ) -> String? {
        guard Terminal.isTerminal(STDERR_FILENO) else { return nil }
        let items = classes.flatMap { itemClass in
            var query = Query(itemClass)
            query.leavesOutLocked = true
            query.presence = .leftOut
            return (try? store.allMatching(query)) ?? []
        }
        let accounts = items.filter { $0.serviceName == service }.map { $0[.account]?.displayText ?? "" }
        guard accounts.isEmpty || account == nil else { return "its accounts: " + list(accounts) }
        return Suggestion.question(Suggestion.names(like: service, among: items.map(\.serviceName)))
    }

    /// - Parameter field: nil: the secret itself.
    static func hint(field: String?, of item: Item) -> String? {
        let names = item.fieldNames
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

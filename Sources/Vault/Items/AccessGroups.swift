// SPDX-License-Identifier: Apache-2.0

/// The access groups of a caller: the first is where it adds.
///
/// A program that names none has the group of its own (``ofProcess``), however it opens the vault: here, by
/// `Vault.openDefault`, through an agent, or with `SecItem…`. `["default"]` names that of the command, and
/// `[Vault.processGroup, "default"]` sees both and adds to the first.
public struct AccessGroups: Equatable, Sendable {
    /// As bytes, in which the primary key compares them. Nil stands for all of them.
    let names: [[UInt8]]?
    package let first: String?

    /// - Parameter list: in order; `*` among them stands for every group.
    public init(_ list: [String]) {
        names = list.contains("*") ? nil : Set(list.map { Array($0.utf8) }).sorted { $0.lexicographicallyPrecedes($1) }
        let writable = list.filter { $0 != AccessGroups.token }
        first = writable.first { $0 != "*" } ?? (writable.isEmpty ? nil : "default")
    }

    /// The one group `default`: that of the command and of a user's other tools.
    public static let standard = AccessGroups(["default"])

    /// `kSecAttrAccessGroupToken`: what tokens offer, read by a query that names it and written by none.
    private static let token = "com.apple.token"

    /// As ``init(_:)`` takes them.
    package var list: [String] {
        guard let names else { return [first == "default" ? nil : first, "*"].compactMap { $0 } }
        let others = names.map { String(decoding: $0, as: UTF8.self) }.filter { $0 != first }.sorted()
        return (first.map { [$0] } ?? []) + others
    }

    /// Those of these groups that are among others, in the order of these.
    package func limited(to others: AccessGroups) -> AccessGroups {
        guard others.names != nil else { return self }
        guard names != nil else { return others }
        return AccessGroups(list.filter { others.allows($0) })
    }

    var isEmpty: Bool { names?.isEmpty ?? false }

    func allows(_ group: String) -> Bool { names?.contains(Array(group.utf8)) ?? true }

    func allowsWriting(_ group: String) -> Bool { group != AccessGroups.token && allows(group) }
}

extension AccessGroups: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: String...) { self.init(elements) }
}

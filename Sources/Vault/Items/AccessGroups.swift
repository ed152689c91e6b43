// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The access groups of a caller; items are added to the first.
///
/// A program that names no groups has its own group (``ofProcess``), however it opens the vault: in the process, by
/// `Vault.openDefault`, through an agent, or with `SecItem…`. `["default"]` names the group of the command, and
/// `[Vault.processGroup, "default"]` sees both and adds to the first.
public struct AccessGroups: Equatable, Sendable {
    /// The names as bytes, as the primary key compares them; `nil` for all groups.
    let names: [[UInt8]]?
    package let first: String?

    /// - Parameter list: the groups in order; `*` stands for every group.
    public init(_ list: [String]) {
        names = list.contains("*") ? nil : Set(list.map { Array($0.utf8) }).sorted { $0.lexicographicallyPrecedes($1) }
        let writable = list.filter { $0 != AccessGroups.token }
        first = writable.first { $0 != "*" } ?? (writable.isEmpty ? nil : "default")
    }

    /// The single group `default`, used by the command and by a user's other tools.
    public static let standard = AccessGroups(["default"])

    /// `kSecAttrAccessGroupToken`: the group of items offered by tokens, read only by a query that names it and never
    /// written.
    private static let token = "com.apple.token"

    /// The list in the form that ``init(_:)`` takes.
    package var list: [String] {
        guard let names else { return [first == "default" ? nil : first, "*"].compactMap { $0 } }
        let others = names.map { String(decoding: $0, as: UTF8.self) }.filter { $0 != first }.sorted()
        return (first.map { [$0] } ?? []) + others
    }

    /// The groups that are also among others, in the order of this list.
    package func limited(to others: AccessGroups) -> AccessGroups {
        guard others.names != nil else { return self }
        guard names != nil else { return others }
        return AccessGroups(list.filter { others.allows($0) })
    }

    /// Whether a text can be a sandboxed application's identifier, which is also its access group. As a group, `*`
    /// would be every group, `default` the user's own, and the empty text marks an unknown sandbox.
    package static func isApplication(_ text: String) -> Bool {
        text.contains(".") && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) }
    }

    var isEmpty: Bool { names?.isEmpty ?? false }

    func allows(_ group: String) -> Bool { names?.contains(Array(group.utf8)) ?? true }

    func allowsWriting(_ group: String) -> Bool { group != AccessGroups.token && allows(group) }
}

extension AccessGroups: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: String...) { self.init(elements) }
}

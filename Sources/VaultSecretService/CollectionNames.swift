// SPDX-License-Identifier: Apache-2.0

/// The last elements of the collections' paths: programs make them from the label, and store them.
///
/// An element is that of the label at the creation of the collection, which its record keeps. A group without a record
/// has that of its name, by which every group answers as well: earlier versions had no other.
struct CollectionNames {
    private var elements: [String: String] = [:]
    private var groups: [String: String] = [:]

    /// The group whose collection programs call `login`.
    private static let home = "default"
    private static let reserved: Set<String> = ["login", "session", "default"]

    init(_ records: [String: CollectionRecord]) {
        // Two devices may have made collections of one path: the older one has it, on both of them.
        for (group, record) in records.sorted(by: { ($0.value.created, $0.key) < ($1.value.created, $1.key) }) {
            guard group != CollectionNames.home, !record.path.isEmpty else { continue }
            let element = CollectionNames.unique(record.path) { groups[$0] != nil }
            (elements[group], groups[element]) = (element, group)
        }
    }

    func element(of group: String) -> String {
        guard group != CollectionNames.home else { return "login" }
        return elements[group] ?? CollectionNames.unique(CollectionNames.old(group)) { groups[$0] != nil }
    }

    /// Returns the group of a path, which need not exist; `nil` if none can have it.
    func group(of element: String) -> String? {
        guard element != "login" else { return CollectionNames.home }
        if let group = groups[element] { return group }
        if let group = PathElement.decoded(element[...]), CollectionNames.old(group) == element { return group }
        // The number of a group whose element a record has.
        guard let mark = element.lastIndex(of: "_"), let group = PathElement.decoded(element[..<mark]),
            self.element(of: group) == element
        else { return nil }
        return group
    }

    /// Returns the element for a new collection.
    ///
    /// - Parameter others: the groups of the other collections.
    func element(forLabel label: String, beside others: [String]) -> String {
        let taken = Set(others.flatMap { [element(of: $0), CollectionNames.old($0)] })
        return CollectionNames.unique(label.isEmpty ? "unnamed" : PathElement.plain(label), taken.contains)
    }

    private static func old(_ group: String) -> String { PathElement.encoded(group, reserved: reserved) }

    private static func unique(_ element: String, _ isTaken: (String) -> Bool) -> String {
        var (unique, number) = (element, 0)
        while isTaken(unique) || reserved.contains(unique) {
            number += 1
            unique = "\(element)_\(number)"
        }
        return unique
    }
}

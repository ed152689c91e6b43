// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

/// The groups of collections of another keyring, each with a record of its label in the vault.
struct CollectionGroups {
    private var groups: [String: String] = [:]
    private var taken: Set<String>
    private var isKept: Set<String>
    private(set) var records: [Item] = []

    init(_ items: [Item]) {
        taken = Set(items.compactMap { $0[.accessGroup]?.text })
        for item in items where HiddenItems.isCollection(item) {
            if let label = item.label, let group = item[.accessGroup]?.text { groups[label] = group }
        }
        isKept = Set(groups.values)
    }

    mutating func group(of label: String) -> String {
        if let group = groups[label] { return group }
        let group = AccessGroups.ofCollection(label, beside: taken)
        taken.insert(group)
        groups[label] = group
        return group
    }

    mutating func keep(_ label: String, for item: Item) {
        guard let group = item[.accessGroup]?.text, groups[label] == group, isKept.insert(group).inserted else {
            return
        }
        records.append(
            Item(
                .genericPassword(service: HiddenItems.collectionService),
                attributes: [.accessGroup: .string(group), .label: .string(label)]))
    }
}

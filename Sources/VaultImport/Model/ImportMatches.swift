// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// The items that earlier imports made of the entries of a source.
///
/// Entries with one identity, such as two seeds of one name in a list, are told apart by their content, never by their
/// order: a line taken out of the list would otherwise move the secret of one account into the item of another. An
/// entry that could belong to several items belongs to none.
struct ImportMatches {
    /// An item that an import wants to be there.
    struct Wish {
        /// The number of its entry.
        let login: Int
        let item: Item
        let fingerprint: Fingerprint
        /// The value of ``ImportNames/source`` without a number.
        let source: String
        /// Returns the values of ``ImportNames/source`` that earlier versions gave to such an entry.
        let earlierSources: () -> [String]
        /// These values, once they are needed.
        fileprivate(set) var earlier: [String] = []
        /// Whether the identity contains a name; without one, it says nothing about the account.
        let isNamed: Bool
    }

    /// The item of each wish that has one, by the number of the wish.
    private(set) var items: [Int: Item] = [:]
    /// The wishes of which it cannot be told whether they are one of several items.
    private(set) var ambiguous: Set<Int> = []

    /// The imported items of the vault, by their source without a number.
    private var families: [String: [Item]] = [:]
    private var taken: Set<[UInt8]> = []

    /// - Parameter stored: the imported items of the vault, by their source.
    init(of given: [Wish], in stored: [String: Item]) throws(ImportError) {
        var wishes = given
        var wanted: [String: [Int]] = [:]
        for (number, wish) in wishes.enumerated() { wanted[wish.source, default: []].append(number) }
        for (source, item) in stored {
            // A number may also be the end of an identifier.
            let base = wanted[source] == nil ? ImportNames.unnumbered(source) : source
            families[base, default: []].append(item)
        }
        var open: [Int] = []
        let hasOthers = families.keys.contains { wanted[$0] == nil }
        for number in wishes.indices {
            if hasOthers { wishes[number].earlier = wishes[number].earlierSources() }
            let wish = wishes[number]
            let earlier = wish.earlier.contains { families[$0] != nil }
            guard let family = families[wish.source], !earlier else {
                if earlier { open.append(number) }
                continue
            }
            // The usual case: an entry with an identity of its own, and its item.
            if wish.isNamed, wanted[wish.source]?.count == 1, family.count == 1, let item = stored[wish.source] {
                items[number] = item
            } else {
                open.append(number)
            }
        }
        guard !open.isEmpty else { return }
        func baseline(_ item: Item) throws(ImportError) -> [UInt8]? {
            try item.opened(ImportNames.fingerprint).flatMap { Fingerprint($0) }?.key
        }
        func secrets(_ wish: Wish) throws(ImportError) -> [UInt8]? { try ImportMatches.secrets(of: wish.item) }
        try match(open, wishes, { $0.fingerprint.key }, of: baseline)
        try match(open, wishes, secrets, of: ImportMatches.secrets)
        matchNames(open, wishes)
        for number in open where items[number] == nil {
            let family = families[wishes[number].source] ?? []
            if family.contains(where: { !isTaken($0) }) { ambiguous.insert(number) }
        }
    }

    private func isTaken(_ item: Item) -> Bool { item.record.map { taken.contains($0.persistentReference) } ?? true }

    private mutating func take(_ item: Item, _ number: Int) {
        items[number] = item
        if let record = item.record { taken.insert(record.persistentReference) }
    }

    /// Matches wishes and items with equal keys, in the order of the source; each key of an item is computed once.
    private mutating func match(
        _ open: [Int], _ wishes: [Wish], _ key: (Wish) throws(ImportError) -> [UInt8]?,
        of itemKey: (Item) throws(ImportError) -> [UInt8]?
    ) throws(ImportError) {
        var found: [String: [[UInt8]: [Item]]] = [:]
        for number in open where items[number] == nil {
            let wish = wishes[number]
            guard let key = try key(wish) else { continue }
            for source in [wish.source] + wish.earlier {
                if found[source] == nil {
                    var byKey: [[UInt8]: [Item]] = [:]
                    // Last first: `popLast` then gives them in their order.
                    for item in (families[source] ?? []).reversed() where !isTaken(item) {
                        if let key = try itemKey(item) { byKey[key, default: []].append(item) }
                    }
                    found[source] = byKey
                }
                var item = found[source]?[key]?.popLast()
                while let other = item, isTaken(other) { item = found[source]?[key]?.popLast() }
                guard let item else { continue }
                take(item, number)
                break
            }
        }
    }

    /// Matches a wish and an item of one title, user, folder and kind, if these distinguish both from all others of
    /// their identity.
    private mutating func matchNames(_ open: [Int], _ wishes: [Wish]) {
        var wished: [String: [[String]: Int]] = [:]
        for number in open {
            wished[wishes[number].source, default: [:]][ImportMatches.names(of: wishes[number].item), default: 0] += 1
        }
        var named: [String: [[String]: [Item]]] = [:]
        for number in open where items[number] == nil {
            let (wish, names) = (wishes[number], ImportMatches.names(of: wishes[number].item))
            var found: [Item] = []
            for source in [wish.source] + wish.earlier {
                if named[source] == nil {
                    named[source] = Dictionary(grouping: families[source] ?? [], by: ImportMatches.names)
                }
                found += named[source]?[names] ?? []
            }
            guard wish.isNamed, wished[wish.source]?[names] == 1, found.count == 1, !isTaken(found[0]) else { continue }
            take(found[0], number)
        }
    }

    private static func names(of item: Item) -> [String] {
        let texts = [Attribute.label, .account, .itemDescription].map { item[$0]?.text ?? "" }
        return texts + [item.userAttributes[ImportNames.folder] ?? ""]
    }

    /// Returns a digest of the secrets of an item; `nil` for an item without any.
    private static func secrets(of item: Item) throws(ImportError) -> [UInt8]? {
        var hash = KeyedHash()
        var isEmpty = true
        for name in [nil] + item.fieldNames.sorted() where name != ImportNames.fingerprint {
            guard let secret = try item.opened(name), !secret.isEmpty else { continue }
            isEmpty = false
            hash.update(framed: name ?? "")
            secret.withBytes { hash.update(framed: $0) }
        }
        let digest = hash.digest()
        return isEmpty ? nil : digest.bytes.span.array(0..<32)
    }
}

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
    struct Wish {
        let login: Int
        let item: Item
        let fingerprint: Fingerprint
        /// The value of ``ItemNames/source`` without a number.
        let source: String
        /// Returns the values of ``ItemNames/source`` that earlier versions gave to such an entry.
        let earlierSources: () -> [String]
        let earlierAttributes: [String: String]
        /// Whether the identity contains a name; without one, it says nothing about the account.
        let isNamed: Bool
    }

    /// The item of each wish that has one, by the number of the wish.
    private(set) var items: [Int: Item] = [:]
    /// The wishes of which it cannot be told whether they are one of several items.
    private(set) var ambiguous: Set<Int> = []

    private let wishes: [Wish]
    /// The sources under which a wish may have an item, the present one first, for each wish that is not the only one
    /// of its identity, or has items of earlier versions.
    private var open: [(number: Int, sources: [String])] = []
    /// The imported items of the vault, by their source without a number.
    private var families: [String: [Item]] = [:]
    private var taken: Set<[UInt8]> = []

    init(of wishes: [Wish], in stored: [String: Item]) throws(ImportError) {
        self.wishes = wishes
        var counts: [String: Int] = [:]
        for wish in wishes { counts[wish.source, default: 0] += 1 }
        for (source, item) in stored {
            // A number may also be the end of an identifier.
            families[counts[source] == nil ? ItemNames.unnumbered(source) : source, default: []].append(item)
        }
        let hasOthers = families.keys.contains { counts[$0] == nil }
        for (number, wish) in wishes.enumerated() {
            let earlier = hasOthers ? wish.earlierSources().filter { families[$0] != nil } : []
            let family = families[wish.source]
            guard family != nil || !earlier.isEmpty else { continue }
            let isAlone = earlier.isEmpty && wish.isNamed && family?.count == 1 && counts[wish.source] == 1
            if isAlone, let item = stored[wish.source] {
                take(item, number)
            } else {
                open.append((number, [wish.source] + earlier))
            }
        }
        guard !open.isEmpty else { return }
        func baseline(_ item: Item) throws(ImportError) -> [UInt8]? {
            try item.opened(ItemNames.fingerprint).flatMap { Fingerprint($0) }?.key
        }
        func secrets(_ wish: Wish) throws(ImportError) -> [UInt8]? { try ImportMatches.secrets(of: wish.item) }
        try match({ $0.fingerprint.key }, of: baseline)
        try match(secrets, of: ImportMatches.secrets)
        matchNames()
        for (number, sources) in open where items[number] == nil {
            if families[sources[0]]?.contains(where: { !isTaken($0) }) == true { ambiguous.insert(number) }
        }
    }

    private func isTaken(_ item: Item) -> Bool { item.record.map { taken.contains($0.persistentReference) } ?? true }

    private mutating func take(_ item: Item, _ number: Int) {
        items[number] = item
        if let record = item.record { taken.insert(record.persistentReference) }
    }

    /// Matches wishes and items with equal keys, in the order of the source; each key of an item is computed once.
    private mutating func match(
        _ key: (Wish) throws(ImportError) -> [UInt8]?, of itemKey: (Item) throws(ImportError) -> [UInt8]?
    ) throws(ImportError) {
        var found: [String: [[UInt8]: [Item]]] = [:]
        for (number, sources) in open where items[number] == nil {
            guard let key = try key(wishes[number]) else { continue }
            for source in sources where items[number] == nil {
                if found[source] == nil {
                    var byKey: [[UInt8]: [Item]] = [:]
                    // Last first: `popLast` then gives them in their order.
                    for item in (families[source] ?? []).reversed() where !isTaken(item) {
                        if let key = try itemKey(item) { byKey[key, default: []].append(item) }
                    }
                    found[source] = byKey
                }
                while items[number] == nil, let item = found[source]?[key]?.popLast() {
                    if !isTaken(item) { take(item, number) }
                }
            }
        }
    }

    /// Matches by title, user, folder and kind, if these distinguish both sides from all others of their identity.
    private mutating func matchNames() {
        let wished = Dictionary(grouping: open) { [$0.sources[0]] + ImportMatches.names(of: wishes[$0.number].item) }
        var named: [String: [[String]: [Item]]] = [:]
        for (number, sources) in open where items[number] == nil {
            let names = ImportMatches.names(of: wishes[number].item)
            guard wishes[number].isNamed, wished[[sources[0]] + names]?.count == 1 else { continue }
            var found: [Item] = []
            for source in sources {
                if named[source] == nil {
                    named[source] = Dictionary(grouping: families[source] ?? [], by: ImportMatches.names)
                }
                found += named[source]?[names] ?? []
            }
            if found.count == 1, !isTaken(found[0]) { take(found[0], number) }
        }
    }

    private static func names(of item: Item) -> [String] {
        let texts = [Attribute.label, .account, .itemDescription].map { item[$0]?.text ?? "" }
        return texts + [item.userAttributes[ItemNames.folder] ?? ""]
    }

    /// Returns a digest of the secrets of an item; `nil` for an item without any.
    private static func secrets(of item: Item) throws(ImportError) -> [UInt8]? {
        var hash = KeyedHash()
        var isEmpty = true
        for name in [nil] + item.fieldNames.sorted() where name != ItemNames.fingerprint {
            guard let secret = try item.opened(name), !secret.isEmpty else { continue }
            isEmpty = false
            hash.update(framed: name ?? "")
            secret.withBytes { hash.update(framed: $0) }
        }
        let digest = hash.digest()
        return isEmpty ? nil : digest.bytes.span.array(0..<32)
    }
}

extension ImportMatches.Wish {
    /// Whether an item came from an entry that says the same, by an earlier version, or without the label.
    func had(_ base: Fingerprint, _ existing: Item) throws(ImportError) -> Bool {
        var earlier = item
        earlier.userAttributes.merge(earlierAttributes) { $1 }
        if existing.label ?? "" == "", ItemFace(existing).title == item.label { earlier[.label] = nil }
        return try Fingerprint(of: earlier) == base
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// Finds places in the record table by value: the primary key of each class, and every attribute that was ever asked
/// for.
///
/// An index is made at the first question and kept from then on. Hashes only propose; whoever asks compares.
final class ItemIndex: RecordObserver {
    private enum Key: Hashable {
        case attribute(AttributeTag)
        case user(String)
    }

    private let hash = ShortHash()
    private var primary: HashChains?
    private var others: [Key: HashChains] = [:]

    var isIndexing: Bool { primary != nil || !others.isEmpty }

    func recordsWereReset() { (primary, others) = (nil, [:]) }

    func record(at place: Int, changedFrom old: Record?, to new: Record?) {
        func move(in chains: HashChains, _ hash: (ItemClass?, Span<UInt8>) -> UInt64?) {
            chains.move(
                place, from: old.flatMap { hash($0.itemClass, $0.attributes.bytes.span) },
                to: new.flatMap { hash($0.itemClass, $0.attributes.bytes.span) })
        }
        if let primary { move(in: primary) { hashPrimary($0, $1) } }
        for (key, chains) in others { move(in: chains) { hash($0, $1, for: key) } }
    }

    /// Places that may hold an item with these values of the class's primary key. Nil: one of the values is missing.
    func candidates(primaryKeyOf itemClass: ItemClass, in store: some RecordSource, _ value: (Attribute) -> MatchKey?)
        -> [Int]?
    {
        var bytes = [itemClass.number]
        bytes.reserveCapacity(128)
        for attribute in Attribute.primaryKey(of: itemClass) {
            guard let value = value(attribute) else { return nil }
            bytes.append(integer: UInt32(value.bytes.count))
            bytes += value.bytes
        }
        if primary == nil { primary = makeChains(store) { hashPrimary($0, $1) } }
        return primary?.places(hash: hash.hash(bytes.span))
    }

    /// How many places may hold an item with this value, and which.
    func candidates(_ attribute: Attribute, _ value: MatchKey, _ itemClass: ItemClass, in store: some RecordSource) -> (
        count: Int, () -> [Int]
    ) {
        candidates(.attribute(attribute.tag), [itemClass.number] + value.bytes, store)
    }

    func candidates(user name: String, _ value: String, _ itemClass: ItemClass, in store: some RecordSource) -> (
        count: Int, () -> [Int]
    ) {
        candidates(.user(name), [itemClass.number] + value.utf8, store)
    }

    private func candidates(_ key: Key, _ bytes: [UInt8], _ store: some RecordSource) -> (count: Int, () -> [Int]) {
        let chains = others[key] ?? makeChains(store) { hash($0, $1, for: key) }
        others[key] = chains
        let wanted = hash.hash(bytes.span)
        return (chains.count(hash: wanted), { chains.places(hash: wanted) })
    }

    private func makeChains(_ store: some RecordSource, _ hash: (ItemClass?, Span<UInt8>) -> UInt64?) -> HashChains {
        let chains = HashChains()
        store.forEachRecord { place, itemClass, attributes in
            chains.move(place, from: nil, to: hash(itemClass, attributes))
        }
        return chains
    }

    /// Of the class and the value.
    private func hash(_ itemClass: ItemClass?, _ attributes: Span<UInt8>, for key: Key) -> UInt64? {
        guard let itemClass else { return nil }
        var bytes = [itemClass.number]
        switch key {
        case .attribute(let tag):
            guard let attribute = Attribute(tag), append(attribute, of: itemClass, attributes, to: &bytes) else {
                return nil
            }
        case .user(let name):
            var value: Range<Int>?
            EncodedAttributes.visitUser(attributes) { if $0 == name { value = $1 } }
            guard let value else { return nil }
            bytes.append(attributes.extracting(value))
        }
        return hash.hash(bytes.span)
    }

    /// Of the class, and of each value of the key behind its length.
    private func hashPrimary(_ itemClass: ItemClass?, _ attributes: Span<UInt8>) -> UInt64? {
        guard let itemClass else { return nil }
        var bytes = [itemClass.number]
        bytes.reserveCapacity(attributes.count + 64)
        for attribute in Attribute.primaryKey(of: itemClass) {
            let start = bytes.count
            bytes.append(integer: UInt32(0))
            if !append(attribute, of: itemClass, attributes, to: &bytes) {
                bytes += MatchKey(.data([]), kind: .blob).bytes
            }
            let length = UInt32(bytes.count - start - 4)
            for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(8 * index)) }
        }
        return hash.hash(bytes.span)
    }

    /// Appends the comparable value of an attribute. Returns false for a record that does not have it.
    private func append(
        _ attribute: Attribute, of itemClass: ItemClass, _ attributes: Span<UInt8>, to bytes: inout [UInt8]
    ) -> Bool {
        let kind = attribute.kind
        if let (encodedKind, range) = EncodedAttributes.payload(of: attribute.tag, in: attributes) {
            MatchKey.append(kind, encodedKind, attributes.extracting(range), to: &bytes)
        } else if let value = attribute.absentValue {
            MatchKey.append(kind, value, to: &bytes)
        } else {
            return false
        }
        return true
    }
}

extension Attribute {
    /// The comparable value of the attribute in a record. Nil: the record does not have it.
    func matchKey(in record: Record, _ itemClass: ItemClass) -> MatchKey? {
        let kind = kind
        return fieldValue(in: record).map { MatchKey($0, kind: kind) }
            ?? record.attributes[tag].map { MatchKey($0, kind: kind) }
            ?? absentValue.map { MatchKey($0, kind: kind) }
    }

    /// Whether the record's value of the attribute is this one.
    func holds(_ value: MatchKey, in record: Record, _ itemClass: ItemClass) -> Bool {
        guard isEncoded, let (encodedKind, range) = record.attributes.payload(of: tag) else {
            return matchKey(in: record, itemClass) == value
        }
        return value.equals(encodedKind, record.attributes.bytes.span.extracting(range), kind: kind)
    }

    /// The value of an attribute that has a field of its own.
    private func fieldValue(in record: Record) -> EncodedValue? {
        switch self {
        case .accessible: .string(record.protection.rawValue)
        case .creationDate: .date(record.created)
        case .modificationDate: .date(record.modified)
        default: nil
        }
    }
}

/// Chains of places that share a hash: entering and leaving cost the same however long a chain is.
///
/// A class, so that no loop over the indexes holds a second copy of its arrays while they change.
final class HashChains {
    private struct Head {
        var first: Int32
        var count: Int32
    }

    private var heads: [UInt64: Head] = [:]
    private var next: [Int32] = []
    private var previous: [Int32] = []

    /// Enters a place, takes it out, or moves it from one chain to another; nil: from or to none.
    func move(_ place: Int, from old: UInt64?, to new: UInt64?) {
        guard old != new else { return }
        if let old { remove(place, hash: old) }
        if let new { insert(place, hash: new) }
    }

    private func insert(_ place: Int, hash: UInt64) {
        if place >= next.count {
            next.append(contentsOf: repeatElement(-1, count: place + 1 - next.count))
            previous.append(contentsOf: repeatElement(-1, count: place + 1 - previous.count))
        }
        let head = heads[hash]
        next[place] = head?.first ?? -1
        previous[place] = -1
        if let head { previous[Int(head.first)] = Int32(place) }
        heads[hash] = Head(first: Int32(place), count: (head?.count ?? 0) + 1)
    }

    private func remove(_ place: Int, hash: UInt64) {
        guard var head = heads[hash] else { return }
        let (before, after) = (previous[place], next[place])
        if before >= 0 { next[Int(before)] = after } else { head.first = after }
        if after >= 0 { previous[Int(after)] = before }
        head.count -= 1
        heads[hash] = head.count == 0 ? nil : head
    }

    func count(hash: UInt64) -> Int { heads[hash].map { Int($0.count) } ?? 0 }

    func places(hash: UInt64) -> [Int] {
        var places: [Int] = []
        var place = heads[hash]?.first ?? -1
        while place >= 0 {
            places.append(Int(place))
            place = next[Int(place)]
        }
        return places
    }
}

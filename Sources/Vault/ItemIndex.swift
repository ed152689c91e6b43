// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// Finds places in the record table by value: the primary key of each class, and every attribute that was ever asked for.
///
/// An index is made at the first question and kept from then on. Hashes only propose; whoever asks compares.
final class ItemIndex: RecordObserver {
    private enum Key: Hashable {
        case primary
        case attribute(AttributeTag)
        case user(String)
    }

    private let hash = ShortHash()
    private var chains: [Key: HashChains] = [:]

    var isIndexing: Bool { !chains.isEmpty }

    func recordsWereReset() { chains = [:] }

    func record(at place: Int, changedFrom old: Operation?, to new: Operation?) {
        for (key, chain) in chains {
            let (before, after) = (old.flatMap { hashes($0, for: key) }, new.flatMap { hashes($0, for: key) })
            guard before != after else { continue }
            if let before { chain.remove(place, hash: before) }
            if let after { chain.insert(place, hash: after) }
        }
    }

    /// Places that may hold an item with these values of the primary key.
    func candidates(primaryKey: [MatchKey], of itemClass: ItemClass, in table: RecordTable) -> [Int] {
        chain(.primary, table).places(hash: hashPrimary(itemClass.stored, primaryKey))
    }

    /// How many places may hold an item with this value, and which.
    func candidates(_ attribute: Attribute, _ value: MatchKey, _ itemClass: ItemClass, in table: RecordTable) -> (count: Int, () -> [Int]) {
        let hash = hash(itemClass.stored, value.bytes)
        let chain = chain(.attribute(attribute.tag), table)
        return (chain.count(hash: hash), { chain.places(hash: hash) })
    }

    func candidates(user name: String, _ value: String, _ itemClass: ItemClass, in table: RecordTable) -> (count: Int, () -> [Int]) {
        let hash = hash(itemClass.stored, Array(value.utf8))
        let chain = chain(.user(name), table)
        return (chain.count(hash: hash), { chain.places(hash: hash) })
    }

    private func chain(_ key: Key, _ table: RecordTable) -> HashChains {
        if let chain = chains[key] { return chain }
        let chain = HashChains()
        table.forEach { place, operation in
            if let hash = hashes(operation, for: key) { chain.insert(place, hash: hash) }
        }
        chains[key] = chain
        return chain
    }

    private func hashes(_ operation: Operation, for key: Key) -> UInt64? {
        guard let itemClass = ItemClass(operation.itemClass) else { return nil }
        switch key {
        case .primary: return hashPrimary(operation, itemClass)
        case .attribute(let tag):
            return Attribute(tag)?.matchKey(in: operation, itemClass).map { hash(operation.itemClass, $0.bytes) }
        case .user(let name):
            return operation.attributes.user[name].map { hash(operation.itemClass, Array($0.utf8)) }
        }
    }

    /// The class, and each value of the key behind its length.
    private func hashPrimary(_ itemClass: VaultFormat.ItemClass, _ values: [MatchKey]) -> UInt64 {
        var bytes = [itemClass.rawValue]
        for value in values {
            bytes.append(integer: UInt32(value.bytes.count))
            bytes += value.bytes
        }
        return hash.hash(bytes.span)
    }

    private func hashPrimary(_ operation: Operation, _ itemClass: ItemClass) -> UInt64 {
        var bytes = [operation.itemClass.rawValue]
        bytes.reserveCapacity(operation.attributes.bytes.count)
        for attribute in Attribute.primaryKey(of: itemClass) {
            let start = bytes.count
            bytes.appendZeros(4)
            let kind = attribute.kind(in: itemClass)
            if let (encodedKind, range) = operation.attributes.payload(of: attribute.tag) {
                MatchKey.append(kind, encodedKind, operation.attributes.bytes.span.extracting(range), to: &bytes)
            } else {
                bytes += (attribute.absentValue.map { MatchKey($0, kind: kind) } ?? MatchKey(.data([]), kind: .blob)).bytes
            }
            let length = UInt32(bytes.count - start - 4)
            for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(8 * index)) }
        }
        return hash.hash(bytes.span)
    }

    private func hash(_ itemClass: VaultFormat.ItemClass, _ bytes: [UInt8]) -> UInt64 {
        hash.hash(([itemClass.rawValue] + bytes).span)
    }
}

extension Attribute {
    /// The comparable value of the attribute in a record. Nil: the record does not have it.
    func matchKey(in operation: Operation, _ itemClass: ItemClass) -> MatchKey? {
        let kind = kind(in: itemClass)
        return fieldValue(in: operation).map { MatchKey($0, kind: kind) }
            ?? operation.attributes[tag].map { MatchKey($0, kind: kind) } ?? absentValue.map { MatchKey($0, kind: kind) }
    }

    /// Whether the record's value of the attribute is this one.
    func holds(_ value: MatchKey, in operation: Operation, _ itemClass: ItemClass) -> Bool {
        guard isEncoded, let (encodedKind, range) = operation.attributes.payload(of: tag) else {
            return matchKey(in: operation, itemClass) == value
        }
        return value.equals(encodedKind, operation.attributes.bytes.span.extracting(range), kind: kind(in: itemClass))
    }

    /// The value of an attribute that has a field of its own.
    private func fieldValue(in operation: Operation) -> EncodedValue? {
        switch self {
        case .accessible: .string(Accessibility(operation.protection).rawValue)
        case .creationDate: .date(operation.created)
        case .modificationDate: .date(operation.modified)
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

    func insert(_ place: Int, hash: UInt64) {
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

    func remove(_ place: Int, hash: UInt64) {
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

// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// Finds places in the record table by value: the primary key of each class, and every attribute that was queried
/// before.
///
/// An index is built at the first query and then kept. Hash matches are only candidates; the engine compares.
final class ItemIndex: RecordObserver {
    private enum Key: Hashable {
        case attribute(AttributeTag)
        case user(String)
        /// The title that ``ItemFace`` gives.
        case title
    }

    private let hash = ShortHash()
    private var primary: HashChains?
    private var others: [Key: HashChains] = [:]
    private var hosts: HostPlaces?

    var isIndexing: Bool { primary != nil || !others.isEmpty || hosts != nil }

    func recordsWereReset() { (primary, others, hosts) = (nil, [:], nil) }

    func record(at place: Int, changedFrom old: Record?, to new: Record?) {
        func move(in chains: HashChains, _ hash: (ItemClass?, Span<UInt8>) -> UInt64?) {
            chains.move(
                place, from: old.flatMap { hash($0.itemClass, $0.attributes.bytes.span) },
                to: new.flatMap { hash($0.itemClass, $0.attributes.bytes.span) })
        }
        if let primary { move(in: primary) { hashPrimary($0, $1) } }
        for (key, chains) in others { move(in: chains) { hash($0, $1, for: key) } }
        hosts?.move(
            place, from: old.map { HostPlaces.hosts($0.itemClass, $0.attributes) } ?? [],
            to: new.map { HostPlaces.hosts($0.itemClass, $0.attributes) } ?? [])
    }

    /// Starts the hash of a primary key.
    func primaryKeyHash(of itemClass: ItemClass) -> PrimaryKeyHash { PrimaryKeyHash(itemClass, hash) }

    /// The places that may hold an item with this primary key, as far as the key belongs to the class.
    func candidates(_ primaryKey: PrimaryKeyHash, in records: VaultStore) -> Candidates {
        let chains = primary ?? makeChains(records) { hashPrimary($0, $1) }
        primary = chains
        return Candidates(chains: chains, hash: primaryKey.value)
    }

    /// The places that may hold an item with the primary key that these attributes have.
    func candidates(of itemClass: ItemClass, _ attributes: Span<UInt8>, in records: VaultStore) -> Candidates {
        let chains = primary ?? makeChains(records) { hashPrimary($0, $1) }
        primary = chains
        return Candidates(chains: chains, hash: hashPrimary(itemClass, attributes) ?? 0)
    }

    /// The places that may hold an item with this value.
    func candidates(
        _ attribute: Attribute, _ key: Span<UInt8>, _ itemClass: ItemClass, in records: VaultStore
    ) -> Candidates {
        candidates(.attribute(attribute.tag), key, itemClass, records)
    }

    func candidates(user name: String, _ value: String, _ itemClass: ItemClass, in records: VaultStore) -> Candidates {
        candidates(.user(name), Array(value.utf8).span, itemClass, records)
    }

    /// The places that may hold an item with this title.
    func candidates(title: String, _ itemClass: ItemClass, in records: VaultStore) -> Candidates {
        candidates(.title, Array(title.utf8).span, itemClass, records)
    }

    /// The places that may hold an item which a program finds by these attributes; `nil` if that may be any place. The
    /// attributes may be the user's or derived from the item's own, so that the one with the fewest candidates decides.
    func places(ofProgram wanted: [String: String], _ itemClass: ItemClass, in records: VaultStore) -> [Int]? {
        var best: [Candidates]?
        for (name, value) in wanted where !ProgramAttributes.isConstant(name, value, of: itemClass) {
            var found = [candidates(user: name, value, itemClass, in: records)]
            if let (attribute, values) = ProgramAttributes.sources(of: name, value, itemClass) {
                for value in values {
                    guard let encoded = value.encoded(as: attribute.kind) else { continue }
                    var key: [UInt8] = []
                    MatchKey.append(attribute.kind, encoded, to: &key)
                    found.append(candidates(attribute, key.span, itemClass, in: records))
                }
            }
            func count(_ candidates: [Candidates]) -> Int { candidates.reduce(0) { $0 + $1.count } }
            if best.map({ count(found) < count($0) }) ?? true { best = found }
        }
        return best.map { $0.count == 1 ? Array($0[0].places) : Array(Set($0.flatMap(\.places))) }
    }

    /// The places of items that are for one of these hosts, in ascending order.
    func places(ofHosts names: [String], in records: VaultStore) -> [Int] {
        if hosts == nil {
            var made = HostPlaces()
            records.forEachRecord { place, itemClass, attributes in
                made.move(
                    place, from: [], to: HostPlaces.hosts(itemClass, EncodedAttributes(checked: attributes)))
            }
            hosts = made
        }
        return hosts?.places(of: names) ?? []
    }

    private func candidates(
        _ key: Key, _ value: Span<UInt8>, _ itemClass: ItemClass, _ records: VaultStore
    ) -> Candidates {
        let chains = others[key] ?? makeChains(records) { hash($0, $1, for: key) }
        others[key] = chains
        var bytes = [itemClass.number]
        bytes.append(value)
        return Candidates(chains: chains, hash: hash.hash(bytes.span))
    }

    private func makeChains(_ records: VaultStore, _ hash: (ItemClass?, Span<UInt8>) -> UInt64?) -> HashChains {
        let chains = HashChains()
        records.forEachRecord { place, itemClass, attributes in
            chains.move(place, from: nil, to: hash(itemClass, attributes))
        }
        return chains
    }

    /// Hashes the class and the value.
    private func hash(_ itemClass: ItemClass?, _ attributes: Span<UInt8>, for key: Key) -> UInt64? {
        guard let itemClass else { return nil }
        var bytes = [itemClass.number]
        switch key {
        case .attribute(let tag):
            guard let attribute = Attribute(tag), MatchKey.append(attribute, of: attributes, to: &bytes) else {
                return nil
            }
        case .user(let name):
            var value: Range<Int>?
            EncodedAttributes.visitUser(attributes) { if $0 == name { value = $1 } }
            guard let value else { return nil }
            bytes.append(attributes.extracting(value))
        case .title:
            bytes += ItemFace(Item(itemClass, only: EncodedAttributes(checked: attributes))).title.utf8
        }
        return hash.hash(bytes.span)
    }

    private func hashPrimary(_ itemClass: ItemClass?, _ attributes: Span<UInt8>) -> UInt64? {
        guard let itemClass else { return nil }
        var hash = primaryKeyHash(of: itemClass)
        let primaryKey = Attribute.primaryKey(of: itemClass)
        EncodedAttributes.visit(attributes) { tag, encodedKind, payload in
            if let attribute = primaryKey.first(where: { $0.tag == tag }) {
                hash.combine(attribute) { bytes in
                    MatchKey.append(attribute.kind, encodedKind, attributes.extracting(payload), to: &bytes)
                }
            }
            return true
        }
        return hash.value
    }
}

/// The hash of the class's own part of a primary key: the values may come in any order.
struct PrimaryKeyHash {
    private let hash: ShortHash
    private var bytes: [UInt8] = []
    private(set) var value: UInt64

    fileprivate init(_ itemClass: ItemClass, _ hash: ShortHash) {
        self.hash = hash
        value = UInt64(itemClass.number)
        bytes.reserveCapacity(128)
    }

    /// - Parameter key: the value in its comparison form.
    mutating func combine(_ attribute: Attribute, _ key: Span<UInt8>) { combine(attribute) { $0.append(key) } }

    mutating func combine(_ attribute: Attribute, _ appendKey: (inout [UInt8]) -> Void) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(integer: attribute.rawValue)
        appendKey(&bytes)
        value &+= hash.hash(bytes.span)
    }
}

/// The candidates that an index returns.
struct Candidates {
    let chains: HashChains
    let hash: UInt64

    var count: Int { chains.count(hash: hash) }

    var places: Places { Places(chains, hash: hash) }
}

/// A sequence of record places: those of a chain, all of a range, or those of a list.
struct Places: Sequence, IteratorProtocol {
    private let chains: HashChains?
    private let list: [Int]?
    private var place: Int
    private let end: Int

    init(_ chains: HashChains, hash: UInt64) {
        (self.chains, list, place, end) = (chains, nil, chains.first(hash: hash), -1)
    }

    init(_ range: Range<Int>) { (chains, list, place, end) = (nil, nil, range.lowerBound, range.upperBound) }

    init(_ list: [Int]) { (chains, self.list, place, end) = (nil, list, 0, list.count) }

    init(_ place: Int?) { self.init(place.map { $0..<$0 + 1 } ?? 0..<0) }

    mutating func next() -> Int? {
        guard place != end else { return nil }
        defer { place = chains?.place(after: place) ?? place + 1 }
        return list?[place] ?? place
    }
}

/// Chains of places that share a hash: insertion and removal cost the same however long a chain is.
///
/// A class, so that no loop over the indexes holds a second copy of its arrays while they change.
final class HashChains {
    private struct Head {
        var first: Int32
        var count: Int32
    }

    /// The neighbours of a place in its chain; -1 if there is none.
    private struct Link {
        var next: Int32 = -1
        var previous: Int32 = -1
    }

    private var heads: [UInt64: Head] = [:]
    private var links: [Link] = []

    /// Inserts a place, removes it, or moves it from one chain to another; `nil` stands for no chain.
    func move(_ place: Int, from old: UInt64?, to new: UInt64?) {
        guard old != new else { return }
        if let old { remove(place, hash: old) }
        if let new { insert(place, hash: new) }
    }

    private func insert(_ place: Int, hash: UInt64) {
        if place >= links.count {
            links.append(contentsOf: repeatElement(Link(), count: place + 1 - links.count))
        }
        let head = heads[hash]
        links[place] = Link(next: head?.first ?? -1)
        if let head { links[Int(head.first)].previous = Int32(place) }
        heads[hash] = Head(first: Int32(place), count: (head?.count ?? 0) + 1)
    }

    private func remove(_ place: Int, hash: UInt64) {
        guard var head = heads[hash] else { return }
        let (before, after) = (links[place].previous, links[place].next)
        if before >= 0 { links[Int(before)].next = after } else { head.first = after }
        if after >= 0 { links[Int(after)].previous = before }
        head.count -= 1
        heads[hash] = head.count == 0 ? nil : head
    }

    func count(hash: UInt64) -> Int { heads[hash].map { Int($0.count) } ?? 0 }

    /// The first place of a chain; -1 if the chain is empty.
    func first(hash: UInt64) -> Int { heads[hash].map { Int($0.first) } ?? -1 }

    /// The place after another in its chain; -1 after the last.
    func place(after place: Int) -> Int { Int(links[place].next) }
}

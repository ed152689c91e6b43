// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The places of items by the hosts that they are for, of which an item may have many. Hosts are hashed: their texts
/// would take half of the table's memory, and whatever is found here is only a candidate.
struct HostPlaces {
    private let hash = ShortHash()
    private var places: [UInt64: [Int32]] = [:]

    /// The hosts of an item, each once.
    static func hosts(_ itemClass: ItemClass?, _ attributes: EncodedAttributes) -> Set<String> {
        guard let itemClass, itemClass == .genericPassword || itemClass == .internetPassword else { return [] }
        return Set(ItemFace(Item(itemClass, only: attributes)).places.map(\.host.text))
    }

    mutating func move(_ place: Int, from old: Set<String>, to new: Set<String>) {
        guard old != new else { return }
        for host in old.subtracting(new) {
            let host = hash(of: host)
            guard let index = places[host]?.firstIndex(of: Int32(place)) else { continue }
            places[host]?.remove(at: index)
            if places[host]?.isEmpty == true { places[host] = nil }
        }
        for host in new.subtracting(old) { places[hash(of: host), default: []].append(Int32(place)) }
    }

    /// Returns the places of items for one of the hosts, in ascending order.
    func places(of hosts: [String]) -> [Int] {
        Set(hosts.flatMap { places[hash(of: $0)] ?? [] }).map(Int.init).sorted()
    }

    private func hash(of host: String) -> UInt64 { hash.hash(Array(host.utf8).span) }
}

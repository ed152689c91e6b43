// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The places of items by the hosts that they are for, of which an item may have many.
struct HostPlaces {
    private var places: [String: [Int32]] = [:]

    /// The hosts of an item, each once.
    static func hosts(_ itemClass: ItemClass?, _ attributes: EncodedAttributes) -> Set<String> {
        guard let itemClass, itemClass == .genericPassword || itemClass == .internetPassword else { return [] }
        return Set(ItemFace(Item(itemClass, only: attributes)).places.map(\.host.text))
    }

    mutating func move(_ place: Int, from old: Set<String>, to new: Set<String>) {
        for host in old.subtracting(new) {
            guard let index = places[host]?.firstIndex(of: Int32(place)) else { continue }
            places[host]?.remove(at: index)
            if places[host]?.isEmpty == true { places[host] = nil }
        }
        for host in new.subtracting(old) { places[host, default: []].append(Int32(place)) }
    }

    /// Returns the places of items for one of the hosts, in ascending order.
    func places(of hosts: [String]) -> [Int] {
        Set(hosts.flatMap { places[$0] ?? [] }).map(Int.init).sorted()
    }
}

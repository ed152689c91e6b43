// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// A device that a name can mean.
package struct NamedDevice: Hashable, Sendable {
    package let id: DeviceID
    package let isRemoved: Bool

    package init(id: DeviceID, isRemoved: Bool) { (self.id, self.isRemoved) = (id, isRemoved) }
}

/// A device that is found by its identifier or its name.
package protocol FoundDevice {
    var id: DeviceID { get }
    var name: String { get }
}

extension FleetDevice: FoundDevice {}
extension RosterDevice: FoundDevice {}

extension Array where Element: FoundDevice {
    /// Returns the device with an identifier or a name. A device that takes a removed one's place often has the same
    /// name, since both have the host's.
    ///
    /// - Throws: `.noSuchDevice`; `.ambiguousDevice`, in the order of the list.
    package func device(
        named text: String, isRemoved: (Element) -> Bool = { _ in false }
    ) throws(SyncError) -> Element {
        if let meant = first(where: { $0.id.text == text.lowercased() }) { return meant }
        let named = filter { $0.name == text }
        guard let device = named.first else { throw .noSuchDevice }
        guard named.count == 1 else {
            throw .ambiguousDevice(named.map { NamedDevice(id: $0.id, isRemoved: isRemoved($0)) })
        }
        return device
    }
}

extension Roster {
    /// The members, and then the removed devices, of which the last removed comes first.
    var everyDevice: [RosterDevice] {
        func order(_ device: RosterDevice) -> (UInt64, DeviceID) { (departures[device.id]?.stamp ?? .max, device.id) }
        return known.values.filter { $0.role != .recovery }.sorted { order($0) > order($1) }
    }
}

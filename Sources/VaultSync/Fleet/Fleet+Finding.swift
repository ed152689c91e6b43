// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// A device that a name can mean.
package struct NamedDevice: Hashable, Sendable {
    package let id: DeviceID
    package let isRemoved: Bool

    package init(id: DeviceID, isRemoved: Bool) { (self.id, self.isRemoved) = (id, isRemoved) }
}

extension Roster {
    /// Finds a device by its identifier or its name. A device that takes a removed one's place often has the same
    /// name, since both have the host's.
    ///
    /// - Parameters:
    ///   - removed: whether to find removed devices as well.
    ///   - other: a device that is not meant.
    /// - Throws: `.noSuchDevice`; `.ambiguousDevice`, with the members before the removed devices, of which the last
    ///   removed comes first.
    func device(
        named text: String, orRemoved removed: Bool, butNot other: DeviceID? = nil
    ) throws(SyncError) -> RosterDevice {
        let all = known.values.filter { device in
            device.role != .recovery && device.id != other && (removed || departures[device.id] == nil)
        }
        if let meant = all.first(where: { $0.id.text == text.lowercased() }) { return meant }
        let named = all.filter { $0.name == text }
        guard named.count != 1 else { return named[0] }
        guard !named.isEmpty else { throw .noSuchDevice }
        func order(_ device: RosterDevice) -> (UInt64, DeviceID) { (departures[device.id]?.stamp ?? .max, device.id) }
        throw .ambiguousDevice(
            named.sorted { order($0) > order($1) }.map { NamedDevice(id: $0.id, isRemoved: gone.contains($0.id)) })
    }
}

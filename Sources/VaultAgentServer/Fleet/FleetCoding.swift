// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultAgent
package import VaultFormat
package import VaultSync

// The encoding of a fleet's status, from the agent to the command. The status names remotes and devices, but no item.

extension FleetLook: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(status)
        writer.put(failure)
        writer.put(deviceNames.sorted { $0.key < $1.key }.map { DeviceName(log: $0.key, name: $0.value) })
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> FleetLook {
        let (status, failure): (FleetStatus?, SyncError?) = (try reader.read(), try reader.read())
        let names: [DeviceName] = try reader.read()
        guard zip(names, names.dropFirst()).allSatisfy({ $0.log < $1.log }) else { throw .invalid }
        return FleetLook(
            status: status, failure: failure,
            deviceNames: Dictionary(uniqueKeysWithValues: names.map { ($0.log, $0.name) }))
    }
}

extension FleetStatus: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(realmID)
        writer.put(deviceName)
        writer.put(remotes)
        writer.put(isFiltered)
        writer.put(UInt64(pending))
        writer.put(UInt64(conflicts))
        writer.put(isRemoved)
        writer.put(removals)
        writer.put(time: lastEqual)
        writer.put(devices)
        writer.put(alarms)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> FleetStatus {
        FleetStatus(
            realmID: try reader.read(), deviceName: try reader.read(), remotes: try reader.read(),
            isFiltered: try reader.read(), pending: try reader.number(), conflicts: try reader.number(),
            isRemoved: try reader.read(), removals: try reader.read(), lastEqual: try reader.time(),
            devices: try reader.read(), alarms: try reader.read())
    }
}

extension FleetStatus.Remote: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(url)
        writer.put(time: lastSync)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> FleetStatus.Remote {
        FleetStatus.Remote(url: try reader.read(), lastSync: try reader.time())
    }
}

extension FleetDevice: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(id)
        writer.put(name)
        writer.put(role)
        writer.put(isThis)
        writer.put(time: lastHeard)
        writer.put(isSilent)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> FleetDevice {
        FleetDevice(
            id: try reader.read(), name: try reader.read(), role: try reader.read(), isThis: try reader.read(),
            lastHeard: try reader.time(), isSilent: try reader.read())
    }
}

extension DeviceRole: MessageValue {}

extension MessageWriter {
    fileprivate mutating func put(time: Double?) { put(time.map(\.bitPattern)) }
}

extension MessageReader {
    fileprivate mutating func time() throws(MessageError) -> Double? {
        guard let bits = try read(UInt64?.self) else { return nil }
        let time = Double(bitPattern: bits)
        guard time.isFinite else { throw .invalid }
        return time
    }

    fileprivate mutating func number() throws(MessageError) -> Int {
        guard let number = Int(exactly: try read(UInt64.self)) else { throw .invalid }
        return number
    }
}

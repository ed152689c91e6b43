// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import Vault

/// Requests the identifier of the device under a name. A missing identifier is made, and a reset makes a new one.
package struct DeviceIdentifierRequest: AgentRequest {
    package typealias Reply = IdentifierReply
    package static let kind: UInt8 = 21
    package let name: String
    package let thisDeviceOnly: Bool
    package let reset: Bool

    package init(name: String, thisDeviceOnly: Bool, reset: Bool) {
        self.name = name
        self.thisDeviceOnly = thisDeviceOnly
        self.reset = reset
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(name)
        writer.put(thisDeviceOnly)
        writer.put(reset)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        name = try reader.read()
        thisDeviceOnly = try reader.read()
        reset = try reader.read()
    }
}

extension AgentClient {
    /// The device's identifier under this name, created now if there is none: a random version-4 UUID (RFC 9562).
    ///
    /// - Parameter thisDeviceOnly: selects another identifier of the same name that is bound to this machine.
    /// - Throws: `.notADeviceIdentifier` if something else is stored in its place.
    public func deviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) throws(VaultError) -> UUID {
        try ask(DeviceIdentifierRequest(name: name, thisDeviceOnly: thisDeviceOnly, reset: false)).identifier
    }

    /// Creates a new identifier under this name, in the place of the old one if there is one.
    @discardableResult
    public func resetDeviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) throws(VaultError) -> UUID {
        try ask(DeviceIdentifierRequest(name: name, thisDeviceOnly: thisDeviceOnly, reset: true)).identifier
    }
}

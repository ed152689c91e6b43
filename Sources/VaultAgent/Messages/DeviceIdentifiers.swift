// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import Vault

/// Requests the identifier of the device under a name. A missing identifier is made, and a reset makes a new one.
package struct DeviceIdentifierRequest: AgentRequest, Formed {
    package typealias Reply = IdentifierReply
    package static let kind: UInt8 = 21
    package static let form = MessageForm(Self.init) { ($0.name, $0.thisDeviceOnly, $0.reset) }
    package let name: String
    package let thisDeviceOnly: Bool
    package let reset: Bool
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

// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultCrypto

// Changes of a fleet that need no key beyond those of the agent. The module that makes a change defines its result.

/// A remote, with this device's credentials for it.
package struct RemotePlace: MessageValue, Sendable {
    package let url: String
    /// The password of the URL's user.
    package let password: Secret?
    /// The paths of PEM files: authorities, certificate, and the certificate's key.
    package let authorities: String?
    package let certificate: String?
    package let key: String?

    package init(
        url: String, password: Secret? = nil, authorities: String? = nil, certificate: String? = nil,
        key: String? = nil
    ) {
        (self.url, self.password) = (url, password)
        (self.authorities, self.certificate, self.key) = (authorities, certificate, key)
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(url)
        writer.put(password)
        writer.put(authorities)
        writer.put(certificate)
        writer.put(key)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> RemotePlace {
        RemotePlace(
            url: try reader.read(), password: try reader.read(), authorities: try reader.read(),
            certificate: try reader.read(), key: try reader.read())
    }
}

/// Adds a remote to the fleet of the vault.
package struct AddRemoteRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 41
    package let value: RemotePlace

    package init(_ value: RemotePlace) { self.value = value }
}

/// Ends the syncs with a remote, which is named by its URL.
package struct RemoveRemoteRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 42
    package let value: String

    package init(_ value: String) { self.value = value }
}

/// Requests the name of the device that asks for admission with a code of 20 bytes.
package struct AskingDeviceRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 43
    package static let onlyReads = true
    package let value: Secret

    package init(_ value: Secret) { self.value = value }
}

/// Admits the device with this code.
package struct ApproveRequest: AgentRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 44
    /// The code, 20 bytes.
    package let code: Secret
    /// The number of the role, like in a roster.
    package let role: UInt8

    package init(code: Secret, role: UInt8) { (self.code, self.role) = (code, role) }

    package func write(to writer: inout MessageWriter) {
        writer.put(code)
        writer.put(role)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        self.init(code: try reader.read(), role: try reader.read())
    }
}

/// Requests the items whose secrets a device can read, or could read. The value is the device's name.
package struct DeviceSecretsRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 47
    package static let onlyReads = true
    package let value: String

    package init(_ value: String) { self.value = value }
}

/// Removes a device from the fleet. The value is its name.
package struct RemoveDeviceRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 48
    package let value: String

    package init(_ value: String) { self.value = value }
}

/// Makes this device's list of devices valid for all.
package struct ResolveRosterRequest: AgentRequest, EmptyMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 49

    package init() {}
}

extension AgentClient {
    /// Requests a change of the fleet, or the information before one.
    ///
    /// - Throws: `.agent(.protocolViolation)`, also if the agent is older than the message.
    package func fleetChange<Request: AgentRequest, Result: MessageValue>(
        _ request: Request
    ) throws(VaultError) -> Result where Request.Reply == SyncReply {
        try SyncReply.value(of: try exchange([request], until: \.isLast))
    }
}

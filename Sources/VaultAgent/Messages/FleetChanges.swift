// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultCrypto

// Changes of a fleet that take no key beyond those that the agent has. Each is answered as the module says it that
// makes it.

/// A remote, and what this device shows it.
package struct RemotePlace: MessageValue, Sendable {
    package let url: String
    /// Of the URL's user.
    package let password: Secret?
    /// Paths of files: authorities, certificate and its key.
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

/// Syncs with a remote, named by its URL, no more.
package struct RemoveRemoteRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 42
    package let value: String

    package init(_ value: String) { self.value = value }
}

/// What the device calls itself that asks with a code, of 20 bytes, to be let in.
package struct AskingDeviceRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 43
    package static let onlyReads = true
    package let value: Secret

    package init(_ value: Secret) { self.value = value }
}

/// Lets that device in.
package struct ApproveRequest: AgentRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 44
    /// 20 bytes.
    package let code: Secret
    /// As in a roster.
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

/// The items whose secrets a device can read, or could, named as people call it.
package struct DeviceSecretsRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 47
    package static let onlyReads = true
    package let value: String

    package init(_ value: String) { self.value = value }
}

/// Shuts a device out of the fleet, named as people call it.
package struct RemoveDeviceRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 48
    package let value: String

    package init(_ value: String) { self.value = value }
}

/// Keeps the list of devices as this device has it, for all.
package struct ResolveRosterRequest: AgentRequest, EmptyMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 49

    package init() {}
}

extension AgentClient {
    /// Asks for a change of the fleet, or for what is to be known before it.
    ///
    /// - Throws: `.agent(.protocolViolation)` also when the agent is older than the message.
    package func fleetChange<Request: AgentRequest, Result: MessageValue>(
        _ request: Request
    ) throws(VaultError) -> Result where Request.Reply == SyncReply {
        try SyncReply.value(of: try exchange([request], until: \.isLast))
    }
}

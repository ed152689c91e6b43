// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

// Changes of a fleet that need no key beyond those of the agent. The module that makes a change defines its result.

/// A remote, with this device's credentials for it.
package struct RemotePlace: MessageValue, Formed, Sendable {
    package static let form = MessageForm(Self.init) {
        ($0.url, $0.password, $0.authorities, $0.certificate, $0.key)
    }
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
}

/// Adds a remote to the fleet of the vault.
package struct AddRemoteRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 41
    package static let form = MessageForm(Self.init) { $0.place }
    package let place: RemotePlace

    package init(_ place: RemotePlace) { self.place = place }
}

/// Ends the syncs with a remote, which is named by its URL.
package struct RemoveRemoteRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 42
    package static let form = MessageForm(Self.init) { $0.url }
    package let url: String

    package init(_ url: String) { self.url = url }
}

/// Requests the name of the device that asks for admission with a code of 20 bytes.
package struct AskingDeviceRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 43
    package static let onlyReads = true
    package static let form = MessageForm(Self.init) { $0.code }
    package let code: Secret

    package init(_ code: Secret) { self.code = code }
}

/// Admits the device with this code.
package struct ApproveRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 44
    package static let form = MessageForm(Self.init) { ($0.code, $0.role) }
    /// The code, 20 bytes.
    package let code: Secret
    /// The number of the role, like in a roster.
    package let role: UInt8

    package init(code: Secret, role: UInt8) { (self.code, self.role) = (code, role) }
}

/// Requests the items whose secrets a device can read, or could read.
package struct DeviceSecretsRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 47
    package static let onlyReads = true
    package static let form = MessageForm(Self.init) { $0.device }
    package let device: String

    package init(_ device: String) { self.device = device }
}

/// Removes a device from the fleet.
package struct RemoveDeviceRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 48
    package static let form = MessageForm(Self.init) { $0.device }
    package let device: String

    package init(_ device: String) { self.device = device }
}

/// Makes this device's list of devices valid for all.
package struct ResolveRosterRequest: EmptyRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 49

    package init() {}
}

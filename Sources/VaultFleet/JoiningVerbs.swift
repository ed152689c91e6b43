// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
package import VaultAgent
package import VaultCrypto
package import VaultSync

// Founding and joining a fleet: from then on its other devices and the holder of its recovery code can read all items.
// Codes have 20 bytes; the command makes and shows them.

/// A remote, with this device's credentials for it.
package struct RemotePlace: MessageValue, Formed, Sendable {
    package static let form = MessageForm(Self.init) {
        ($0.url, $0.password, $0.authorities, $0.certificate, $0.key)
    }
    let url: String
    /// The password of the URL's user.
    var password: Secret?
    /// The paths of PEM files: authorities, certificate, and the certificate's key.
    var authorities: String?
    var certificate: String?
    var key: String?

    var credentials: RemoteCredentials {
        RemoteCredentials(
            password: password, authorities: authorities.map { FilePath($0) },
            certificate: certificate.map { FilePath($0) }, key: key.map { FilePath($0) })
    }
}

extension RemotePlace {
    package init(_ remote: RemoteURL, _ shown: RemoteCredentials) {
        self.init(
            url: remote.text, password: shown.password, authorities: shown.authorities?.string,
            certificate: shown.certificate?.string, key: shown.key?.string)
    }
}

/// A vault that joins a fleet.
package struct NewMember: MessageValue, Formed, Sendable {
    // The command of an earlier release can ask for a part of the items.
    package static let form = MessageForm<Self>(checking: { $2 ? nil : Self(place: $0, device: $1) }) {
        ($0.place, $0.device, false)
    }
    let place: RemotePlace
    /// This device's name for the other devices.
    package let device: String

    package init(place: RemotePlace, device: String) { (self.place, self.device) = (place, device) }
}

/// Founds a fleet.
package struct FoundRequest: FleetVerb {
    package static let kind: UInt8 = 50
    package static let opensAll = true
    package static let form = MessageForm(Self.init) { ($0.member, $0.code) }
    let member: NewMember
    /// The recovery code, which its owner has. `nil` only checks whether a fleet could be founded.
    let code: Secret?

    package init(_ member: NewMember, code: Secret?) { (self.member, self.code) = (member, code) }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        let (url, credentials) = (try RemoteURL(member.place.url), member.place.credentials)
        guard let code else {
            try fleet.checkCanFound(url, credentials: credentials, deviceName: member.device)
            if host.isAgent, url.scheme == .file, !FileManager.default.isWritableFile(atPath: url.folder.string) {
                throw .store(.inputOutput(.readOnlyFileSystem, url.folder.string))
            }
            return FleetChange(isLook: true)
        }
        try fleet.found(
            url, credentials: credentials, deviceName: member.device, code: try RecoveryCode(told: code))
        host.forgetWish()
        return FleetChange(name: try fleet.ownName)
    }
}

/// Joins a fleet by its recovery code.
package struct RecoverRequest: FleetVerb {
    package static let kind: UInt8 = 51
    package static let opensAll = true
    package static let form = MessageForm(Self.init) { ($0.member, $0.code) }
    let member: NewMember
    let code: Secret

    package init(_ member: NewMember, code: Secret) { (self.member, self.code) = (member, code) }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        try fleet.join(
            try RemoteURL(member.place.url), credentials: member.place.credentials,
            with: try RecoveryCode(told: code), deviceName: member.device)
        host.forgetWish()
        return FleetChange(name: try fleet.ownName)
    }
}

/// Asks the owners of a fleet for admission, by a code that was not used before.
package struct AskToJoinRequest: FleetVerb {
    package static let kind: UInt8 = 52
    package static let opensAll = true
    package static let form = MessageForm(Self.init) { ($0.member, $0.code) }
    let member: NewMember
    let code: Secret

    package init(_ member: NewMember, code: Secret) { (self.member, self.code) = (member, code) }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        let attempt = try fleet.requestToJoin(
            try RemoteURL(member.place.url), credentials: member.place.credentials, deviceName: member.device,
            code: try RecoveryCode(told: code))
        host.wait(with: attempt.wish)
        return FleetChange(isLook: true)
    }
}

/// Joins if an owner has answered the request with this code. A request without an answer so far does not keep the
/// vault open.
package struct AnswerToJoinRequest: FleetVerb {
    package static let kind: UInt8 = 53
    package static let (opensAll, isUse) = (true, false)
    package static let form = MessageForm(Self.init) { $0.code }
    let code: Secret

    package init(_ code: Secret) { self.code = code }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        guard try fleet.join(try host.wish(code)) else { return FleetChange(isLook: true) }
        host.forgetWish()
        return FleetChange(name: try fleet.ownName)
    }
}

extension RecoveryCode {
    /// - Throws: `.noAnswer` for a code of another length.
    init(told secret: Secret) throws(SyncError) {
        do throws(CryptoError) { try self.init(secret: secret) } catch { throw .noAnswer }
    }
}

extension Fleet {
    /// This device's name in the fleet, which has a number if another device has the original name.
    var ownName: String {
        get throws(SyncError) {
            let status = try status()
            return status.devices.first { $0.isThis }?.name ?? status.deviceName
        }
    }
}

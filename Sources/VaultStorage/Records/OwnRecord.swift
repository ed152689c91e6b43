// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// The kind of a record of class 0, named by its user attribute `record`.
package enum OwnRecord: String, Sendable {
    /// A record without the attribute: ``VaultSettings``.
    case settings = ""
    /// ``Succession``
    case succession
    /// The keys that identify this device in the fleet.
    case identity
    /// A location of the fleet's records.
    case remote
    /// The password of this device's user at a remote.
    case password
    /// The known state of one log of the fleet.
    case log
    /// This device's publications to the fleet, and its knowledge of the fleet.
    case sync
    /// The items whose secrets servers have refused, at this device alone.
    case refused
    /// A record of a later version, which is kept.
    case unknown = "\u{0}"

    /// This device's part of a fleet, omitted from copies of the vault: two devices with one identity would write to
    /// the same log.
    static let ofDevice: [OwnRecord] = [.identity, .password]

    private static let attribute = "record"

    static func kind(of attributes: Span<UInt8>) -> OwnRecord {
        var kind = OwnRecord.settings
        EncodedAttributes.visitUser(attributes) { name, value in
            guard name == attribute else { return }
            let text = String(validating: attributes.array(value), as: UTF8.self)
            kind = text.flatMap { $0.isEmpty ? nil : OwnRecord(rawValue: $0) } ?? .unknown
        }
        return kind
    }

    /// - Parameter more: user attributes besides the one that names the kind.
    package func attributes(_ more: [String: String] = [:]) -> EncodedAttributes {
        EncodedAttributes([:], user: more.merging([OwnRecord.attribute: rawValue]) { $1 })
    }
}

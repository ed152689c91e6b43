// SPDX-License-Identifier: Apache-2.0
public import VaultFormat

/// What a record of class 0 is about, which its user attribute `record` says.
public enum OwnRecord: String, Sendable {
    /// It has no such attribute: ``VaultSettings``.
    case settings = ""
    /// ``Succession``
    case succession
    /// The keys by which the fleet knows this device.
    case identity
    /// A place where the fleet's records are.
    case remote
    /// The password of this device's user at a remote.
    case password
    /// What is known of one log of the fleet.
    case log
    /// What this device has told the fleet, and what it knows of it.
    case sync
    /// One that a later version has made; it is kept.
    case unknown = "\u{0}"

    /// This device's part of a fleet, which no copy of the vault has: two devices with one identity would write one
    /// log.
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

    /// - Parameter more: user attributes beside the one that says what the record is.
    public func attributes(_ more: [String: String] = [:]) -> EncodedAttributes {
        EncodedAttributes([:], user: more.merging([OwnRecord.attribute: rawValue]) { $1 })
    }
}

// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

// The admission of a vault to a fleet, and the recovery code. Codes have 20 bytes; the client makes and shows them.

/// A vault that joins a fleet.
package struct NewMember: MessageValue, Formed, Sendable {
    // The command of an earlier release can ask for a part of the items.
    package static let form = MessageForm<Self>(checking: { $2 ? nil : Self(place: $0, device: $1) }) {
        ($0.place, $0.device, false)
    }
    package let place: RemotePlace
    /// This device's name for the other devices.
    package let device: String

    package init(place: RemotePlace, device: String) { (self.place, self.device) = (place, device) }
}

/// Founds a fleet.
package struct FoundRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 50
    package static let form = MessageForm(Self.init) { ($0.member, $0.code) }
    package let member: NewMember
    /// The recovery code, which its owner has. `nil` only checks whether a fleet could be founded.
    package let code: Secret?

    package init(_ member: NewMember, code: Secret?) { (self.member, self.code) = (member, code) }
}

/// Joins a fleet by its recovery code.
package struct RecoverRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 51
    package static let form = MessageForm(Self.init) { ($0.member, $0.code) }
    package let member: NewMember
    package let code: Secret

    package init(_ member: NewMember, code: Secret) { (self.member, self.code) = (member, code) }
}

/// Replaces the fleet's recovery code.
package struct RenewCodeRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 55
    package static let form = MessageForm(Self.init) { $0.code }
    /// The new code, which its owner has. `nil` only checks whether the code could be renewed.
    package let code: Secret?

    package init(_ code: Secret?) { self.code = code }
}

/// Asks the owners of a fleet for admission, by a code that was not used before.
package struct AskToJoinRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 52
    package static let form = MessageForm(Self.init) { ($0.member, $0.code) }
    package let member: NewMember
    package let code: Secret

    package init(_ member: NewMember, code: Secret) { (self.member, self.code) = (member, code) }
}

/// Joins if an owner has answered the request with this code.
package struct AnswerToJoinRequest: AgentRequest, Formed {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 53
    package static let form = MessageForm(Self.init) { $0.code }
    package let code: Secret

    package init(_ code: Secret) { self.code = code }
}

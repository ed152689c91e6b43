// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

// The admission of a vault to a fleet, and the recovery code. Codes have 20 bytes; the client makes and shows them.

/// A vault that joins a fleet.
package struct NewMember: MessageValue, Sendable {
    package let place: RemotePlace
    /// This device's name for the other devices.
    package let device: String

    package init(place: RemotePlace, device: String) { (self.place, self.device) = (place, device) }

    package func write(to writer: inout MessageWriter) {
        writer.put(place)
        writer.put(device)
        writer.put(false)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> NewMember {
        let member = NewMember(place: try reader.read(), device: try reader.read())
        // The command of an earlier release can ask for a part of the items.
        guard try !reader.read(Bool.self) else { throw .invalid }
        return member
    }
}

/// Founds a fleet.
package struct FoundRequest: AgentRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 50
    package let member: NewMember
    /// The recovery code, which its owner has. `nil` only checks whether a fleet could be founded.
    package let code: Secret?

    package init(_ member: NewMember, code: Secret?) { (self.member, self.code) = (member, code) }

    package func write(to writer: inout MessageWriter) {
        writer.put(member)
        writer.put(code)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        self.init(try reader.read(), code: try reader.read())
    }
}

/// Joins a fleet by its recovery code.
package struct RecoverRequest: AgentRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 51
    package let member: NewMember
    package let code: Secret

    package init(_ member: NewMember, code: Secret) { (self.member, self.code) = (member, code) }

    package func write(to writer: inout MessageWriter) {
        writer.put(member)
        writer.put(code)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        self.init(try reader.read(), code: try reader.read())
    }
}

/// Replaces the fleet's recovery code.
package struct RenewCodeRequest: AgentRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 55
    /// The new code, which its owner has. `nil` only checks whether the code could be renewed.
    package let code: Secret?

    package init(_ code: Secret?) { self.code = code }

    package func write(to writer: inout MessageWriter) { writer.put(code) }

    package init(from reader: inout MessageReader) throws(MessageError) { self.init(try reader.read()) }
}

/// Asks the owners of a fleet for admission, by a code that was not used before.
package struct AskToJoinRequest: AgentRequest {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 52
    package let member: NewMember
    package let code: Secret

    package init(_ member: NewMember, code: Secret) { (self.member, self.code) = (member, code) }

    package func write(to writer: inout MessageWriter) {
        writer.put(member)
        writer.put(code)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        self.init(try reader.read(), code: try reader.read())
    }
}

/// Joins if an owner has answered the request with this code.
package struct AnswerToJoinRequest: AgentRequest, ValueMessage {
    package typealias Reply = SyncReply
    package static let kind: UInt8 = 53
    package let value: Secret

    package init(_ value: Secret) { self.value = value }
}

// SPDX-License-Identifier: Apache-2.0
public import Vault
package import VaultCrypto

/// Requests a ticket. The agent grants it after a person has given the vault's passphrase, either to a door, which
/// shows the requesting program, or to the client itself.
package struct AuthenticateRequest: AgentRequest, Formed {
    package typealias Reply = TicketReply
    package static let kind: UInt8 = 29
    package static let form = MessageForm(Self.init) { ($0.reason, $0.passphrase) }
    /// The program's explanation for the person.
    package let reason: String?
    /// `nil` if a door is to ask for the passphrase.
    package let passphrase: Passphrase?
}

/// Presents a ticket for the next request of this connection.
package struct PresentRequest: ValueRequest, DoneRequest {
    package static let kind: UInt8 = 30
    package let value: Ticket
}

/// A door's offer to ask people. The first reply accepts the offer; later ones bring questions and withdrawals, as long
/// as the connection lasts. No other request is possible on the connection.
package struct QuestionsRequest: EmptyRequest {
    package typealias Reply = QuestionReply
    package static let kind: UInt8 = 31
}

/// A person's answer to a door. After a wrong passphrase there may be another answer.
package struct AnswerRequest: DoneRequest, Formed {
    package static let kind: UInt8 = 32
    package static let form = MessageForm(Self.init) { ($0.question, $0.answer) }
    /// The identifier of the question, 16 bytes.
    package let question: QuestionID
    package let answer: PersonAnswer
}

/// The ticket, after a person has given the passphrase.
package struct TicketReply: ValueReply {
    package static let kind: UInt8 = 139
    package let value: Ticket

    package init(_ value: Ticket) { self.value = value }
}

package struct QuestionReply: ValueReply {
    package static let kind: UInt8 = 140
    /// `nil` if the offer was accepted.
    package let value: QuestionEvent?

    package init(_ value: QuestionEvent?) { self.value = value }
}

/// 16 random bytes that a client presents on the connection on which it received them.
package struct Ticket: RandomBytes {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package func isEqual(to other: Ticket) -> Bool { isEqualInConstantTime(bytes.span, other.bytes.span) }
}

/// 16 random bytes, which only the asking door receives.
package struct QuestionID: Hashable, RandomBytes {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
}

/// 16 random bytes.
package protocol RandomBytes: MessageValue, Formed, Sendable {
    var bytes: [UInt8] { get }

    /// - Parameter bytes: 16 bytes.
    init(bytes: [UInt8])
}

extension RandomBytes {
    package static var form: MessageForm<Self> {
        MessageForm(checking: { $0.count == 16 ? Self(bytes: $0) : nil }) { $0.bytes }
    }

    package static func random(_ source: any RandomSource) -> Self { Self(bytes: source.bytes(16)) }
}

/// The content of a door's question to a person. Nothing in it is proven.
package struct PersonQuestion: Equatable, Sendable {
    package let id: QuestionID
    /// The requesting process.
    package let process: Int32
    /// The last component of its program's path; empty if the agent cannot see the path.
    package let program: String
    /// The explanation by the process: at most ``longestReason`` scalars of any kind.
    package let reason: String

    /// A length that fits into a line of pinentry, with the text around it.
    package static let longestReason = 140

    package init(_ id: QuestionID, process: Int32, program: String, reason: String) {
        self.id = id
        self.process = process
        self.program = String(String.UnicodeScalarView(program.unicodeScalars.prefix(64)))
        self.reason = String(String.UnicodeScalarView(reason.unicodeScalars.prefix(PersonQuestion.longestReason)))
    }
}

package enum QuestionEvent: Equatable, Sendable {
    case asked(PersonQuestion)
    /// The client has gone, or its time is over.
    case withdrawn(QuestionID)
}

package enum PersonAnswer: Sendable {
    case passphrase(Passphrase)
    case dismissed
    case unanswered
    /// The door cannot ask at present.
    case unavailable
}

// MARK: Coding

extension Passphrase: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(secret) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Passphrase {
        let secret: Secret = try reader.read()
        do throws(CryptoError) { return try Passphrase(secret.bytes) } catch { throw .invalid }
    }
}

extension PersonQuestion: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: { id, process, program, reason in
        let question = PersonQuestion(id, process: Int32(bitPattern: process), program: program, reason: reason)
        return question.program == program && question.reason == reason ? question : nil
    }) { ($0.id, UInt32(bitPattern: $0.process), $0.program, $0.reason) }
}

extension QuestionEvent: FormedCases {
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(1, Self.asked) { if case .asked(let question) = $0 { question } else { nil } },
        .init(2, Self.withdrawn) { if case .withdrawn(let id) = $0 { id } else { nil } },
    ]
}

extension PersonAnswer: FormedCases {
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(1, Self.passphrase) { if case .passphrase(let passphrase) = $0 { passphrase } else { nil } },
        .init(2, { .dismissed }) { if case .dismissed = $0 { () } else { nil } },
        .init(3, { .unanswered }) { if case .unanswered = $0 { () } else { nil } },
        .init(4, { .unavailable }) { if case .unavailable = $0 { () } else { nil } },
    ]
}

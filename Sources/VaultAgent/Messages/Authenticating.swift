// SPDX-License-Identifier: Apache-2.0
public import Vault
package import VaultCrypto

/// Requests a ticket. The agent grants it after a person has given the vault's passphrase, either to a door, which
/// shows the requesting program, or to the client itself.
package struct AuthenticateRequest: AgentRequest {
    package typealias Reply = TicketReply
    package static let kind: UInt8 = 29
    /// The program's explanation for the person.
    package let reason: String?
    /// `nil` if a door is to ask for the passphrase.
    package let passphrase: Passphrase?

    package init(reason: String?, passphrase: Passphrase? = nil) {
        self.reason = reason
        self.passphrase = passphrase
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(reason)
        writer.put(passphrase)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        reason = try reader.read()
        passphrase = try reader.read()
    }
}

/// Presents a ticket for the next request of this connection.
package struct PresentRequest: AgentRequest, ValueMessage {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 30
    package let value: Ticket

    package init(_ value: Ticket) { self.value = value }
}

/// A door's offer to ask people. The first reply accepts the offer; later ones bring questions and withdrawals, as long
/// as the connection lasts. No other request is possible on the connection.
package struct QuestionsRequest: AgentRequest, EmptyMessage {
    package typealias Reply = QuestionReply
    package static let kind: UInt8 = 31

    package init() {}
}

/// A person's answer to a door. After a wrong passphrase there may be another answer.
package struct AnswerRequest: AgentRequest {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 32
    /// The identifier of the question, 16 bytes.
    package let question: QuestionID
    package let answer: PersonAnswer

    package init(_ question: QuestionID, _ answer: PersonAnswer) {
        self.question = question
        self.answer = answer
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(question)
        writer.put(answer)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        question = try reader.read()
        answer = try reader.read()
    }
}

/// The ticket, after a person has given the passphrase.
package struct TicketReply: AgentReply, ValueMessage {
    package static let kind: UInt8 = 139
    package let value: Ticket

    package init(_ value: Ticket) { self.value = value }
}

package struct QuestionReply: AgentReply, ValueMessage {
    package static let kind: UInt8 = 140
    /// `nil` if the offer was accepted.
    package let value: QuestionEvent?

    package init(_ value: QuestionEvent?) { self.value = value }
}

/// 16 random bytes that a client presents on the connection on which it received them.
package struct Ticket: Sendable {
    package let bytes: [UInt8]

    package static func random(_ source: any RandomSource) -> Ticket { Ticket(unchecked: source.bytes(16)) }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Fails unless there are 16 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    package func isEqual(to other: Ticket) -> Bool { isEqualInConstantTime(bytes.span, other.bytes.span) }
}

/// 16 random bytes, which only the asking door receives.
package struct QuestionID: Hashable, Sendable {
    package let bytes: [UInt8]

    package static func random(_ source: any RandomSource) -> QuestionID { QuestionID(unchecked: source.bytes(16)) }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Fails unless there are 16 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }
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

extension Ticket: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(bytes: bytes) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Ticket {
        guard let ticket = Ticket(try reader.bytes()) else { throw .invalid }
        return ticket
    }
}

extension QuestionID: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(bytes: bytes) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> QuestionID {
        guard let id = QuestionID(try reader.bytes()) else { throw .invalid }
        return id
    }
}

extension PersonQuestion: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(id)
        writer.put(UInt32(bitPattern: process))
        writer.put(program)
        writer.put(reason)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> PersonQuestion {
        let (id, process): (QuestionID, UInt32) = (try reader.read(), try reader.read())
        let (program, reason): (String, String) = (try reader.read(), try reader.read())
        let question = PersonQuestion(id, process: Int32(bitPattern: process), program: program, reason: reason)
        guard question.program == program, question.reason == reason else { throw .invalid }
        return question
    }
}

extension QuestionEvent: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .asked(let question):
            writer.put(1 as UInt8)
            writer.put(question)
        case .withdrawn(let id):
            writer.put(2 as UInt8)
            writer.put(id)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> QuestionEvent {
        switch try reader.read(UInt8.self) {
        case 1: .asked(try reader.read())
        case 2: .withdrawn(try reader.read())
        default: throw .invalid
        }
    }
}

extension PersonAnswer: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .passphrase(let passphrase):
            writer.put(1 as UInt8)
            writer.put(passphrase)
        case .dismissed: writer.put(2 as UInt8)
        case .unanswered: writer.put(3 as UInt8)
        case .unavailable: writer.put(4 as UInt8)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> PersonAnswer {
        switch try reader.read(UInt8.self) {
        case 1: .passphrase(try reader.read())
        case 2: .dismissed
        case 3: .unanswered
        case 4: .unavailable
        default: throw .invalid
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
public import Vault
package import VaultCrypto

/// Asks for a ticket, which is given when a person has given the vault's passphrase: to a door, which shows them who
/// wants it, or to the client itself.
package struct AuthenticateRequest: AgentRequest {
    package typealias Reply = TicketReply
    package static let kind: UInt8 = 29
    /// What the program says to the person.
    package let reason: String?
    /// Nil: a door is to ask for it.
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

/// Shows a ticket for the next request of this connection.
package struct PresentRequest: AgentRequest, ValueMessage {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 30
    package let value: Ticket

    package init(_ value: Ticket) { self.value = value }
}

/// From a door: it can ask people. The first reply says that it is heard; others tell it whom to ask, and when that is
/// no longer wanted, for as long as the connection lasts, on which nothing else can be asked.
package struct QuestionsRequest: AgentRequest, EmptyMessage {
    package typealias Reply = QuestionReply
    package static let kind: UInt8 = 31

    package init() {}
}

/// What a person has answered to a door. A passphrase that is wrong may be followed by another.
package struct AnswerRequest: AgentRequest {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 32
    /// Of the question: 16 bytes.
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

/// A person has given the passphrase.
package struct TicketReply: AgentReply, ValueMessage {
    package static let kind: UInt8 = 139
    package let value: Ticket

    package init(_ value: Ticket) { self.value = value }
}

package struct QuestionReply: AgentReply, ValueMessage {
    package static let kind: UInt8 = 140
    /// Nil: the door is heard.
    package let value: QuestionEvent?

    package init(_ value: QuestionEvent?) { self.value = value }
}

/// 16 random bytes that a client shows, on the connection that it got them on.
package struct Ticket: Sendable {
    package let bytes: [UInt8]

    package static func random(_ source: any RandomSource) -> Ticket { Ticket(unchecked: source.bytes(16)) }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Nil: not 16.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    package func isEqual(to other: Ticket) -> Bool { isEqualInConstantTime(bytes.span, other.bytes.span) }
}

/// 16 random bytes, which only the door is told that is to ask.
package struct QuestionID: Hashable, Sendable {
    package let bytes: [UInt8]

    package static func random(_ source: any RandomSource) -> QuestionID { QuestionID(unchecked: source.bytes(16)) }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Nil: not 16.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }
}

/// What a door shows to a person. None of it is proven.
package struct PersonQuestion: Equatable, Sendable {
    package let id: QuestionID
    /// The process that wants something.
    package let process: Int32
    /// The last part of its program's path; empty: the agent cannot see it.
    package let program: String
    /// What the process says: at most ``longestReason`` scalars, of any kind.
    package let reason: String

    /// It fits into a line of pinentry's, with what is said around it.
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
    /// This door cannot ask now.
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

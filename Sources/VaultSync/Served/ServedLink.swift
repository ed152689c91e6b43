// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultFormat

/// A server and the connection to it, which is opened on demand and again after a failure.
final class ServedLink: Sendable {
    /// A sent question, with everything needed to send it again.
    struct Question {
        fileprivate let what: ServedFrame.Question
        fileprivate let content: [UInt8]
        fileprivate let part: ServedFrame.Answer?
        fileprivate let limit: Int
        fileprivate let connection: ServedConnection
        fileprivate let call: ServedCall
        /// Whether the connection was already open before the question.
        fileprivate let isOld: Bool

        func forget() { call.forget() }
    }

    private let open: @Sendable () throws(RecordStoreError) -> ServedConnection
    private let current = Mutex<ServedConnection?>(nil)

    init(_ open: @escaping @Sendable () throws(RecordStoreError) -> ServedConnection) { self.open = open }

    /// Returns the current connection or a new one.
    private func connection() throws(RecordStoreError) -> (connection: ServedConnection, isOld: Bool) {
        try current.withLock { current throws(RecordStoreError) in
            if let current, current.failure == nil { return (current, true) }
            // Closed before another is opened: a server may accept few connections at a time.
            current = nil
            let made = try open()
            current = made
            return (made, false)
        }
    }

    func ask(
        _ what: ServedFrame.Question, _ content: [UInt8], parts part: ServedFrame.Answer? = nil, limit: Int = 0
    ) throws(RecordStoreError) -> Question {
        var (connection, isOld) = try connection()
        let call: ServedCall
        do throws(RecordStoreError) {
            call = try connection.ask(what, content, parts: part, limit: limit)
        } catch {
            guard isOld else { throw error }
            (connection, isOld) = (try self.connection().connection, false)
            call = try connection.ask(what, content, parts: part, limit: limit)
        }
        return Question(
            what: what, content: content, part: part, limit: limit, connection: connection, call: call,
            isOld: isOld)
    }

    /// Waits for an answer, and checks it.
    ///
    /// - Parameter check: throws for an answer that violates the protocol.
    func answer(
        to question: Question, _ check: ([ServedFrame], [UInt8]) throws(FormatError) -> Void
    ) throws(RecordStoreError) {
        var question = question
        let answer: (parts: [ServedFrame], end: [UInt8])
        do throws(RecordStoreError) { answer = try question.connection.answer(to: question.call) } catch {
            guard question.isOld, question.what.isRepeatable, question.connection.failure != nil else { throw error }
            question = try ask(question.what, question.content, parts: question.part, limit: question.limit)
            answer = try question.connection.answer(to: question.call)
        }
        do throws(FormatError) { try check(answer.parts, answer.end) } catch {
            throw question.connection.violated("an answer that makes no sense")
        }
    }

    func answer(
        _ what: ServedFrame.Question, _ content: [UInt8], parts: ServedFrame.Answer? = nil, limit: Int = 0,
        _ check: ([ServedFrame], [UInt8]) throws(FormatError) -> Void
    ) throws(RecordStoreError) {
        try answer(to: try ask(what, content, parts: parts, limit: limit), check)
    }

    func watch(_ content: [UInt8], _ gate: HintGate) throws(RecordStoreError) -> (ServedConnection, UInt32) {
        // An old connection may have broken unnoticed, and would lose the watch. A question that is repeated finds out.
        _ = try realms()
        let connection = try connection().connection
        return (connection, try connection.watch(content, gate))
    }

    func realms() throws(RecordStoreError) -> [RealmID] {
        var realms: [RealmID] = []
        try answer(.realms, [], parts: .realms, limit: 1 << 20) { parts, end throws(FormatError) in
            guard end.isEmpty else { throw .invalid(.body) }
            realms = []
            for part in parts {
                var reader = ByteReader(part.content)
                while !reader.isAtEnd { realms.append(try reader.name()) }
            }
        }
        return realms
    }
}

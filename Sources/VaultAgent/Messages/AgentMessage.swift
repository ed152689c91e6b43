// SPDX-License-Identifier: Apache-2.0

/// A message of either side. Each is a type of its own, with a number that `Agent.md` lists and no other message gets.
package protocol AgentMessage: Sendable {
    /// 1 to 127 for requests, from 128 on for replies.
    static var kind: UInt8 { get }

    func write(to writer: inout MessageWriter)

    /// - Throws: for anything but what ``write(to:)`` makes.
    init(from reader: inout MessageReader) throws(MessageError)
}

/// What a client asks of an agent.
package protocol AgentRequest: AgentMessage {
    associatedtype Reply: AgentReply

    /// Whether nothing is different when it is sent a second time.
    static var onlyReads: Bool { get }
}

/// What an agent answers.
package protocol AgentReply: AgentMessage {}

/// A message that says all with its kind.
package protocol EmptyMessage: AgentMessage {
    init()
}

/// A message whose body is one value.
package protocol ValueMessage: AgentMessage {
    associatedtype Value: MessageValue

    var value: Value { get }

    init(_ value: Value)
}

extension AgentRequest {
    package static var onlyReads: Bool { false }
}

extension EmptyMessage {
    package func write(to writer: inout MessageWriter) {}

    package init(from reader: inout MessageReader) { self.init() }
}

extension ValueMessage {
    package func write(to writer: inout MessageWriter) { writer.put(value) }

    package init(from reader: inout MessageReader) throws(MessageError) { self.init(try reader.read()) }
}

extension AgentMessage {
    package func frame(_ number: UInt32) -> Frame {
        var writer = MessageWriter()
        write(to: &writer)
        return Frame(kind: Self.kind, number: number, writer)
    }

    /// - Throws: for anything but what ``frame(_:)`` makes.
    package init(_ frame: Frame) throws(MessageError) {
        guard frame.kind == Self.kind else { throw .invalid }
        var reader = MessageReader(frame)
        try self.init(from: &reader)
        try reader.end()
    }
}

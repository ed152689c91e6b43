// SPDX-License-Identifier: Apache-2.0

/// A message of either side. Each message is a type with its own number, which `Agent.md` lists.
package protocol AgentMessage: Sendable {
    /// The number: 1 to 127 for requests, 128 and above for replies.
    static var kind: UInt8 { get }

    func write(to writer: inout MessageWriter)

    /// - Throws: an error for anything but the output of ``write(to:)``.
    init(from reader: inout MessageReader) throws(MessageError)
}

/// A request of a client.
package protocol AgentRequest: AgentMessage {
    associatedtype Reply: AgentReply

    /// Whether a repetition of the request changes nothing.
    static var onlyReads: Bool { get }
}

/// A reply of an agent.
package protocol AgentReply: AgentMessage {}

extension AgentRequest {
    package static var onlyReads: Bool { false }
}

/// A request whose repetition changes nothing.
protocol OnlyReads: AgentRequest {}

extension OnlyReads {
    package static var onlyReads: Bool { true }
}

protocol DoneRequest: AgentRequest where Reply == DoneReply {}
protocol ItemsRequest: AgentRequest where Reply == ItemsReply {}
protocol CountRequest: AgentRequest where Reply == CountReply {}

/// A request without a body.
protocol EmptyRequest: AgentRequest {
    init()
}

extension EmptyRequest {
    package func write(to writer: inout MessageWriter) {}

    package init(from reader: inout MessageReader) { self.init() }
}

/// A request whose body is one value.
protocol ValueRequest: AgentRequest {
    associatedtype Value: MessageValue

    var value: Value { get }

    init(value: Value)
}

extension ValueRequest {
    init(_ value: Value) { self.init(value: value) }

    package func write(to writer: inout MessageWriter) { writer.put(value) }

    package init(from reader: inout MessageReader) throws(MessageError) { self.init(try reader.read()) }
}

/// A reply whose body is one value.
protocol ValueReply: AgentReply {
    associatedtype Value: MessageValue

    var value: Value { get }

    init(_ value: Value)
}

extension ValueReply {
    package func write(to writer: inout MessageWriter) { writer.put(value) }

    package init(from reader: inout MessageReader) throws(MessageError) { self.init(try reader.read()) }
}

extension AgentMessage {
    package func frame(_ number: UInt32, version: UInt8 = Frame.version) -> Frame {
        var writer = MessageWriter()
        write(to: &writer)
        return Frame(version: version, kind: Self.kind, number: number, writer)
    }

    /// - Throws: an error for anything but the output of ``frame(_:version:)``. A frame of another version may have
    ///   more behind the known parts.
    package init(_ frame: Frame) throws(MessageError) {
        guard frame.kind == Self.kind else { throw .invalid }
        var reader = MessageReader(frame.body, secrets: frame.secrets.first)
        try self.init(from: &reader)
        if frame.version == Frame.version { try reader.end() }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// What the first request of a connection says: which vault, as whom, and what for.
package struct Greeting: Sendable {
    /// The path of the file, without symbolic links; empty: whichever it is.
    package var vault: String
    /// The caller's access groups; nil: those that the agent has for it.
    package var groups: [String]?
    /// What secrets are wanted for.
    package var purpose: AgentClient.Purpose

    package init(vault: String, groups: [String]?, purpose: AgentClient.Purpose) {
        self.vault = vault
        self.groups = groups
        self.purpose = purpose
    }
}

/// The first request of a connection.
package protocol Hello: AgentRequest where Reply == StatusReply {
    /// Whether a person or a program has named the groups: a program's own ones give way to those that a policy has for
    /// it.
    static var namesGroups: Bool { get }
    var greeting: Greeting { get }
}

/// From a client with access groups that were named, or that wants those that the agent has for it.
package struct HelloRequest: Hello, ValueMessage {
    package static let kind: UInt8 = 1
    package static let namesGroups = true
    package let value: Greeting

    package init(_ greeting: Greeting) { value = greeting }
}

/// From a program that has no groups but its own.
package struct ProgramHelloRequest: Hello, ValueMessage {
    package static let kind: UInt8 = 24
    package static let namesGroups = false
    package let value: Greeting

    package init(_ greeting: Greeting) { value = greeting }
}

/// From a door, which speaks for another process on this connection.
package struct BehalfHelloRequest: Hello {
    package static let kind: UInt8 = 28
    package static let namesGroups = true
    /// Its groups are those that were named for the process; nil: those that the agent has for it.
    package let greeting: Greeting
    package let behalf: Behalf

    package init(_ greeting: Greeting, _ behalf: Behalf) {
        self.greeting = greeting
        self.behalf = behalf
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(greeting)
        writer.put(behalf)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        greeting = try reader.read()
        behalf = try reader.read()
    }
}

extension Hello {
    package static var onlyReads: Bool { true }
}

extension Hello where Self: ValueMessage, Value == Greeting {
    package var greeting: Greeting { value }
}

extension Greeting: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(vault)
        writer.put(groups)
        writer.put(purpose)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Greeting {
        let vault: String = try reader.read()
        return Greeting(vault: vault, groups: try reader.read(), purpose: try reader.read())
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The content of a connection's first request: the vault, the caller's groups, and the purpose.
package struct Greeting: Sendable {
    /// The path of the file without symbolic links; empty accepts any vault.
    package var vault: String
    /// The caller's access groups; `nil` requests those that the agent assigns.
    package var groups: [String]?
    /// The purpose of requested secrets.
    package var purpose: AgentClient.Purpose

    package init(vault: String, groups: [String]?, purpose: AgentClient.Purpose) {
        self.vault = vault
        self.groups = groups
        self.purpose = purpose
    }
}

/// The first request of a connection.
package protocol Hello: AgentRequest where Reply == StatusReply {
    /// Whether a person or a program has named the groups: a program's own groups give way to those of a policy.
    static var namesGroups: Bool { get }
    var greeting: Greeting { get }
}

/// The greeting of a client with named access groups, or without groups.
package struct HelloRequest: Hello, ValueMessage {
    package static let kind: UInt8 = 1
    package static let namesGroups = true
    package let value: Greeting

    package init(_ greeting: Greeting) { value = greeting }
}

/// The greeting of a program with its own groups only.
package struct ProgramHelloRequest: Hello, ValueMessage {
    package static let kind: UInt8 = 24
    package static let namesGroups = false
    package let value: Greeting

    package init(_ greeting: Greeting) { value = greeting }
}

/// The greeting of a door, which speaks for another process on this connection.
package struct BehalfHelloRequest: Hello {
    package static let kind: UInt8 = 28
    package static let namesGroups = true
    /// The greeting with the groups named for the process; `nil` groups request those that the agent assigns.
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

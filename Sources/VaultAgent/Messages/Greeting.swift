// SPDX-License-Identifier: Apache-2.0

/// The content of a connection's first request: the vault, the caller's groups, and the purpose.
package struct Greeting: Sendable {
    /// The path of the file without symbolic links; empty accepts any vault.
    package var vault: String
    /// The caller's access groups; `nil` requests those that the agent assigns.
    package var groups: [String]?
    /// The purpose of requested secrets.
    package var purpose: AgentClient.Purpose
}

/// The first request of a connection.
package protocol Hello: AgentRequest where Reply == StatusReply {
    /// Whether a person or a program has named the groups: a program's own groups give way to those of a policy.
    static var namesGroups: Bool { get }
    var greeting: Greeting { get }
}

/// The greeting of a client with named access groups, or without groups.
package struct HelloRequest: Hello, ValueRequest {
    package static let kind: UInt8 = 1
    package static let namesGroups = true
    package let value: Greeting

    package var greeting: Greeting { value }
}

/// The greeting of a program with its own groups only.
package struct ProgramHelloRequest: Hello, ValueRequest {
    package static let kind: UInt8 = 24
    package static let namesGroups = false
    package let value: Greeting

    package var greeting: Greeting { value }
}

/// The greeting of a door, which speaks for another process on this connection.
package struct BehalfHelloRequest: Hello, Formed {
    package static let kind: UInt8 = 28
    package static let namesGroups = true
    package static let form = MessageForm(Self.init) { ($0.greeting, $0.behalf) }
    /// The greeting with the groups named for the process; `nil` groups request those that the agent assigns.
    package let greeting: Greeting
    package let behalf: Behalf
}

extension Hello {
    package static var onlyReads: Bool { true }
}

extension Greeting: MessageValue, Formed {
    package static let form = MessageForm(Self.init) { ($0.vault, $0.groups, $0.purpose) }
}

// SPDX-License-Identifier: Apache-2.0

/// A process that a client speaks for. The start time distinguishes it from a later process with the same number.
///
/// A client that speaks for another process has only the rights that both of them have, and only while the other runs.
public struct Behalf: Equatable, Sendable {
    /// The number in the agent's PID namespace, which client and agent share.
    public let process: Int32
    /// The start time in clock ticks since the start of the machine: field 22 of /proc/PID/stat.
    public let startTime: UInt64
    /// The application of the Flatpak sandbox in which the client has found the process; empty if the application is
    /// unknown; `nil` without a sandbox. The agent may be unable to look. This value never increases the rights of the
    /// process.
    public let sandbox: String?

    /// - Parameters:
    ///   - process: a number above 0; otherwise the initializer fails.
    ///   - startTime: the start time that the client has read before.
    ///   - sandbox: the client's finding.
    public init?(process: Int32, startTime: UInt64, sandbox: String?) {
        guard process > 0 else { return nil }
        (self.process, self.startTime, self.sandbox) = (process, startTime, sandbox)
    }
}

extension Behalf: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: { sandbox, process, startTime in
        Int32(exactly: process).flatMap { Behalf(process: $0, startTime: startTime, sandbox: sandbox) }
    }) { ($0.sandbox, UInt32($0.process), $0.startTime) }
}

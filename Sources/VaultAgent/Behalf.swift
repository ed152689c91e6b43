// SPDX-License-Identifier: Apache-2.0

/// A process that a client speaks for: its number, and when it began, which tells it from a later one with that number.
///
/// A client that speaks for another process gets what both of them may, and that as long as the other one runs.
public struct Behalf: Equatable, Sendable {
    /// As the agent numbers processes, too: client and agent are in one PID namespace.
    public let process: Int32
    /// Clock ticks from the start of the machine, as field 22 of /proc/PID/stat has them.
    public let startTime: UInt64
    /// The application whose Flatpak sandbox the client has found the process in; empty: one of which that cannot be
    /// told; nil: it is in none. The agent may not be able to look. The rights that the process has are never more for
    /// it.
    public let sandbox: String?

    /// - Parameters:
    ///   - process: more than 0; else there is none.
    ///   - startTime: what was read of it before, by the client that speaks for the process.
    ///   - sandbox: what that client has found.
    public init?(process: Int32, startTime: UInt64, sandbox: String?) {
        guard process > 0 else { return nil }
        self.process = process
        self.startTime = startTime
        self.sandbox = sandbox
    }
}

extension Behalf: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(sandbox)
        writer.put(UInt32(process))
        writer.put(startTime)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Behalf {
        let sandbox: String? = try reader.read()
        let process = Int32(exactly: try reader.read(UInt32.self))
        let startTime: UInt64 = try reader.read()
        guard let process, let behalf = Behalf(process: process, startTime: startTime, sandbox: sandbox) else {
            throw .invalid
        }
        return behalf
    }
}

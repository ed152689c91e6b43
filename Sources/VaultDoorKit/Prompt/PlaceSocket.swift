// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import SystemPackage
internal import VaultLoop
internal import VaultSystem

/// A socket over which a session tells the doors the display or terminal at which the user can be asked. A message on
/// the bus may come from a sandbox, which could have the passphrase typed into a display of its own.
package final class PlaceSocket {
    private let server: SocketServer

    /// The timeout for a client that has begun to send, in seconds.
    fileprivate static let patience = 2
    fileprivate static let answer: UInt8 = 1
    /// A client is served once it has sent something, so a silent one delays no other, and gives way when its place is
    /// needed.
    private static let rules = SocketServer.Rules(
        servesAtOnce: false, Places(most: 16, .ofMachine), refusesMore: false, sendingPatience: patience)

    /// Returns the paths of `doors.sock` in `$XDG_RUNTIME_DIR/vault`, and of `doors-ssh.sock`, for a process that owns
    /// no name on the bus and runs beside one that does.
    ///
    /// - Parameter environment: looks up a variable of a process.
    package static func paths(_ environment: (String) -> String?) -> [FilePath] {
        guard let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else { return [] }
        return ["doors.sock", "doors-ssh.sock"].map { FilePath(directory).appending("vault").appending($0) }
    }

    /// Listens on a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: a bound socket, in a directory of the user's own. Closed with the value, or if this returns
    ///     `nil`.
    ///   - isTold: receives the variables, which may be those that this process has already. Called on any thread.
    package init?(_ descriptor: Int32, isTold: @escaping @Sendable ([String: String]) -> Void) {
        let server = SocketServer(descriptor, PlaceSocket.rules) {
            PlaceClient(descriptor: $0.descriptor, user: $0.user, isTold: isTold)
        }
        guard let server else { return nil }
        self.server = server
    }

    deinit { server.end() }

    /// Sends the variables of a session to the doors.
    ///
    /// - Returns: `false` if no door listens, or the message was rejected.
    package static func tell(_ variables: [String: String], at path: FilePath) -> Bool {
        guard let line = try? Descriptor(unsafe clinux_connect_unix(path.string, patience)) else { return false }
        let text = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\0" }.joined() + "\0"
        let bytes = Array((variables.isEmpty ? "\0\0" : text).utf8)
        var answer: UInt8 = 0
        return unsafe clinux_send(line.number, bytes, bytes.count, 0) == 0
            && clinux_receive_some(line.number, &answer, 1) == 1 && answer == PlaceSocket.answer
    }
}

private struct PlaceClient: SocketClient {
    let descriptor: Int32
    let user: UInt32
    let isTold: @Sendable ([String: String]) -> Void

    /// An upper bound for the size of the variables, in bytes.
    private static let longest = 16 << 10

    func hangUp() {}

    func serve() -> Bool {
        guard let told = read() else { return false }
        isTold(told)
        var answer = PlaceSocket.answer
        _ = unsafe clinux_send(descriptor, &answer, 1, 0)
        return false
    }

    /// Reads the variables; `nil` for another user's process, or a malformed message.
    private func read() -> [String: String]? {
        guard user == geteuid() else { return nil }
        clinux_set_patience(descriptor, PlaceSocket.patience)
        // The deadline covers the whole message, so that sending a byte at a time gains nothing.
        let deadline = ContinuousClock.now + .seconds(PlaceSocket.patience)
        var bytes: [UInt8] = []
        while bytes.last != 0 || bytes.suffix(2) != [0, 0] {
            var part = [UInt8](repeating: 0, count: 4096)
            let count = unsafe clinux_receive_some(descriptor, &part, part.count)
            guard count > 0, .now < deadline, bytes.count + count <= PlaceClient.longest else { return nil }
            bytes += part[..<count]
        }
        var told: [String: String] = [:]
        for entry in bytes.dropLast(2).split(separator: 0) {
            let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = String(validating: parts[0], as: UTF8.self),
                let value = String(validating: parts[1], as: UTF8.self), PromptPlace.names.contains(name)
            else { return nil }
            told[name] = value
        }
        return told
    }
}

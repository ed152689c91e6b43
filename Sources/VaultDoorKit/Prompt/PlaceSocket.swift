// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
package import SystemPackage

/// A socket over which a session tells the doors the display or terminal at which the user can be asked. A message on
/// the bus may come from a sandbox, which could have the passphrase typed into a display of its own.
package final class PlaceSocket {
    private let source: any DispatchSourceRead

    /// An upper bound for the size of the variables, in bytes.
    private static let longest = 16 << 10
    /// The timeout for a silent client, in seconds.
    private static let patience = 2
    private static let answer: UInt8 = 1

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
    ///   - descriptor: a bound socket, in a directory of the user's own. The value takes ownership and closes it.
    ///   - isTold: receives the variables, which may be those that this process has already.
    package init?(_ descriptor: Int32, isTold: @escaping @Sendable ([String: String]) -> Void) {
        guard listen(descriptor, 8) == 0 else {
            close(descriptor)
            return nil
        }
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "vault.place"))
        source.setEventHandler {
            let client = accept(descriptor, nil, nil)
            guard client >= 0 else { return }
            if let told = PlaceSocket.read(client) {
                isTold(told)
                var answer = PlaceSocket.answer
                _ = unsafe clinux_send(client, &answer, 1, 0)
            }
            close(client)
        }
        source.setCancelHandler(handler: { close(descriptor) })
        source.activate()
    }

    deinit { source.cancel() }

    /// Reads the variables; `nil` for another user's process, or a malformed message.
    private static func read(_ client: Int32) -> [String: String]? {
        var (process, user): (Int32, UInt32) = (0, 0)
        guard unsafe clinux_peer(client, &process, &user) == 0, user == geteuid() else { return nil }
        clinux_set_patience(client, patience)
        // The deadline covers the whole message, so that sending a byte at a time gains nothing.
        let deadline = ContinuousClock.now + .seconds(patience)
        var bytes: [UInt8] = []
        while bytes.last != 0 || bytes.suffix(2) != [0, 0] {
            var part = [UInt8](repeating: 0, count: 4096)
            let count = unsafe clinux_receive_some(client, &part, part.count)
            guard count > 0, .now < deadline, bytes.count + count <= longest else { return nil }
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

    /// Sends the variables of a session to the doors.
    ///
    /// - Returns: `false` if no door listens, or the message was rejected.
    package static func tell(_ variables: [String: String], at path: FilePath) -> Bool {
        let connected = unsafe clinux_connect_unix(path.string, patience)
        guard connected >= 0 else { return false }
        let descriptor = Int32(connected)
        defer { close(descriptor) }
        let text = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\0" }.joined() + "\0"
        let bytes = Array((variables.isEmpty ? "\0\0" : text).utf8)
        var answer: UInt8 = 0
        return unsafe clinux_send(descriptor, bytes, bytes.count, 0) == 0
            && clinux_receive_some(descriptor, &answer, 1) == 1 && answer == PlaceSocket.answer
    }
}

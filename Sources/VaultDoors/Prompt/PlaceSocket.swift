// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
package import SystemPackage

/// Where a session tells the doors at which display or terminal people can be asked: a socket, since what comes over a
/// bus may come from a sandbox, which would have the passphrase typed into a display of its own.
package final class PlaceSocket {
    private let source: any DispatchSourceRead

    /// More than the variables take, in bytes.
    private static let longest = 16 << 10
    /// For one who says nothing, in seconds.
    private static let patience = 2
    private static let answer: UInt8 = 1

    /// `doors.sock` in `$XDG_RUNTIME_DIR/vault`, and `doors-ssh.sock` of a process that serves no name on the bus,
    /// beside which another one does.
    ///
    /// - Parameter environment: a process's variables.
    package static func paths(_ environment: (String) -> String?) -> [FilePath] {
        guard let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else { return [] }
        return ["doors.sock", "doors-ssh.sock"].map { FilePath(directory).appending("vault").appending($0) }
    }

    /// Listens.
    ///
    /// - Parameters:
    ///   - descriptor: bound, in a directory of the user's own. It is closed with the value.
    ///   - isTold: hears the variables, among which those that this process has already.
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

    /// Nil: another user's, or not made as it has to be.
    private static func read(_ client: Int32) -> [String: String]? {
        var (process, user): (Int32, UInt32) = (0, 0)
        guard unsafe clinux_peer(client, &process, &user) == 0, user == geteuid() else { return nil }
        clinux_set_patience(client, patience)
        // One that says a byte at a time is not waited for any longer than one that says nothing.
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

    /// Tells the doors of a session.
    ///
    /// - Returns: false when none listen, or they did not understand.
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

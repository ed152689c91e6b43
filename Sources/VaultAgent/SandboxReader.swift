// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import VaultSystem

/// Reads a sandbox's file about itself. The process inside may have made this file in its own namespace, of any kind
/// and length, on a file system that it serves itself. Therefore the wait is short, and only a short text is used.
final class SandboxReader: Sendable {
    static let shared = SandboxReader(read: SandboxReader.content)
    static let file = ".flatpak-info"

    /// The most bytes that are read.
    static let limit = 64 << 10
    private static let timers = DispatchQueue(label: "vault.sandbox.timers")

    private let patience: DispatchTimeInterval
    private let most: Int
    private let content: @Sendable (_ root: borrowing Descriptor) -> Sandbox
    private let underWay = Mutex(0)

    /// - Parameters:
    ///   - patience: the time limit for a file.
    ///   - most: the most files that are read at once, which also limits the threads that hang on hostile files.
    init(
        patience: DispatchTimeInterval = .seconds(1), most: Int = 8,
        read: @escaping @Sendable (_ root: borrowing Descriptor) -> Sandbox
    ) {
        (self.patience, self.most, content) = (patience, most, read)
    }

    /// - Parameters:
    ///   - root: the root directory.
    ///   - hears: called once, with `.unnamed` if too many files are being read, or after the timeout.
    func read(_ root: consuming Descriptor, hears: @escaping @Sendable (Sandbox) -> Void) {
        let isTaken = underWay.withLock { count in
            guard count < most else { return false }
            count += 1
            return true
        }
        guard isTaken else { return hears(.unnamed) }
        let answer = Answer(hears)
        let root = root.take()
        DispatchQueue(label: "vault.sandbox").async { [self] in
            let sandbox = content(Descriptor(owning: root))
            underWay.withLock { $0 -= 1 }
            answer.give(sandbox)
        }
        SandboxReader.timers.asyncAfter(deadline: .now() + patience) { answer.give(.unnamed) }
    }

    /// Passes on only the first of two answers.
    private final class Answer: Sendable {
        private let hears: Mutex<(@Sendable (Sandbox) -> Void)?>

        init(_ hears: @escaping @Sendable (Sandbox) -> Void) { self.hears = Mutex(hears) }

        func give(_ sandbox: Sandbox) { hears.withLock { $0.take() }?(sandbox) }
    }

    /// Reads the file in a root directory.
    private static let content: @Sendable (borrowing Descriptor) -> Sandbox = { root in
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        // The array has this room.
        let count = unsafe clinux_read_file(root.number, file, &bytes, bytes.count)
        guard count >= 0 else { return count == -Int(ENOENT) ? .none : .unnamed }
        guard count <= limit else { return .unnamed }
        var section = Substring()
        for line in String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n") {
            if line.hasPrefix("[") {
                section = line
            } else if section == "[Application]", line.hasPrefix("name=") {
                return .application(String(line.dropFirst(5)))
            }
        }
        return .unnamed
    }
}

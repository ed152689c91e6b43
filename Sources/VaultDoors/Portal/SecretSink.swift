// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import VaultCrypto

/// A pipe into which a secret goes.
final class SecretSink: Sendable {
    private let descriptor: Int32

    /// How long the one who reads may keep this process waiting, in milliseconds.
    private static let patience: Int32 = 5000

    /// - Parameter descriptor: of a message, with which it goes; this has one of its own.
    init?(_ descriptor: Int32) {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard own >= 0 else { return nil }
        self.descriptor = own
    }

    deinit { close(descriptor) }

    /// - Parameter secret: of no more bytes than a pipe takes at once.
    /// - Returns: whether all of it was written.
    func write(_ secret: Secret) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&waiting, 1, SecretSink.patience) == 1, waiting.revents & Int16(POLLERR) == 0 else {
            return false
        }
        return secret.withBytes { bytes in
            // The bytes are as many as the span says.
            unsafe bytes.withUnsafeBytes { unsafe clinux_write_pipe(descriptor, $0.baseAddress, $0.count) } == 0
        }
    }
}

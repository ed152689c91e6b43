// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import VaultCrypto
internal import VaultSystem

/// A pipe to which a secret is written.
final class SecretSink: Sendable {
    private let pipe: Descriptor

    /// How long a reader may block this process, in milliseconds.
    private static let patience: Int32 = 5000

    /// - Parameter descriptor: belongs to a message and is closed with it; the value keeps a duplicate.
    init?(_ descriptor: Int32) {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard own >= 0 else { return nil }
        pipe = Descriptor(owning: own)
    }

    /// - Parameter secret: of no more bytes than a pipe accepts at once.
    /// - Returns: `true` if all of it was written.
    func write(_ secret: Secret) -> Bool {
        var waiting = pollfd(fd: pipe.number, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&waiting, 1, SecretSink.patience) == 1, waiting.revents & Int16(POLLERR) == 0 else {
            return false
        }
        return secret.withBytes { bytes in
            // The count is that of the span.
            unsafe bytes.withUnsafeBytes { unsafe clinux_write_pipe(pipe.number, $0.baseAddress, $0.count) } == 0
        }
    }
}

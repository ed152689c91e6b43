// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import VaultAgent
internal import VaultCrypto
internal import VaultFormat

/// The frames that a socket has yet to take, in order. Secrets are in this memory only while the socket takes no more.
struct Outbox {
    private struct Outgoing {
        var bytes: [UInt8]
        var sent = 0
        let hasSecrets: Bool
        /// Called once the frame is written.
        let end: () -> Void

        /// Wipes the frame's secrets.
        mutating func wipe() {
            guard hasSecrets else { return }
            VaultCrypto.wipe(&bytes)
        }
    }

    private var frames: [Outgoing] = []

    var isEmpty: Bool { frames.isEmpty }

    /// The number of bytes that the socket has not taken.
    var count: Int { frames.reduce(0) { $0 + $1.bytes.count - $1.sent } }

    mutating func append(_ frame: Frame, _ end: @escaping () -> Void) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Frame.headLength + frame.body.count + frame.secretsLength)
        bytes += frame.open
        for secret in frame.secrets { secret.withBytes { bytes.append($0) } }
        frames.append(Outgoing(bytes: bytes, hasSecrets: frame.secretsLength > 0, end: end))
    }

    /// Writes as much as the socket takes.
    ///
    /// - Returns: what to call now: the ends of the written frames. `nil` if the connection is broken.
    mutating func write(to descriptor: Int32) -> [() -> Void]? {
        var ends: [() -> Void] = []
        while !frames.isEmpty {
            let rest = frames[0].sent..<frames[0].bytes.count
            let written = unsafe frames[0].bytes.withUnsafeBytes { bytes in
                // The range is within the bytes.
                let start = unsafe bytes.baseAddress.map { unsafe $0 + rest.lowerBound }
                return unsafe send(descriptor, start, rest.count, Int32(MSG_NOSIGNAL))
            }
            if written < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN ? ends : nil
            }
            frames[0].sent += written
            guard frames[0].sent == frames[0].bytes.count else { continue }
            frames[0].wipe()
            ends.append(frames.removeFirst().end)
        }
        return ends
    }

    /// Wipes and drops all frames.
    mutating func drop() {
        for index in frames.indices { frames[index].wipe() }
        frames = []
    }
}

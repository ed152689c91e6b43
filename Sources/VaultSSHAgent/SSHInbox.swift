// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The received bytes of a client's requests, in locked memory: they may contain private keys.
struct SSHInbox: ~Copyable {
    private var buffer: SecretBytes
    private var count = 0

    private static let room = 4096
    private static let headLength = 4

    init() throws(CryptoError) { buffer = try SecretBytes(zeroed: SSHInbox.room) }

    /// Lends the free space, which is never empty.
    ///
    /// - Parameter receive: fills the start of the space and returns the number of bytes; 0 or less for none.
    mutating func fill(_ receive: (inout MutableSpan<UInt8>) -> Int) -> Int {
        let filled = count
        let received = buffer.withMutableBytes { bytes in
            var room = bytes._mutatingExtracting(filled..<bytes.count)
            return receive(&room)
        }
        count += max(0, received)
        return received
    }

    /// Passes the complete requests on, in order, and wipes them.
    ///
    /// - Parameter answer: receives a request without its length field; returns `false` to stop.
    /// - Throws: `.malformed` for an invalid length, before the rest of the request has arrived; `.unavailable`.
    mutating func drain(_ answer: (Span<UInt8>) -> Bool) throws(SSHRefusal) {
        var start = 0
        var isWanted = true
        while isWanted, let length = try length(at: start), count - start - SSHInbox.headLength >= length {
            let first = start + SSHInbox.headLength
            isWanted = buffer.withBytes { answer($0.extracting(first..<first + length)) }
            start = first + length
        }
        let needed = max(SSHInbox.room, try length(at: start).map { $0 + SSHInbox.headLength } ?? 0)
        // Locked memory is scarce, and announcing a length costs a client nothing.
        let room = min(needed, max(SSHInbox.room, 4 * (count - start)))
        try SSHPrivateKey.secured { () throws(CryptoError) in try drop(start, room: room) }
    }

    private func length(at start: Int) throws(SSHRefusal) -> Int? {
        guard count - start >= SSHInbox.headLength else { return nil }
        let length = Int(buffer.withBytes { $0.integer(at: start, as: UInt32.self).byteSwapped })
        guard (1...SSHAgent.longestFrame).contains(length) else { throw .malformed }
        return length
    }

    /// Moves the remaining bytes to the front, into as much memory as the next request needs.
    private mutating func drop(_ start: Int, room: Int) throws(CryptoError) {
        let rest = count - start
        let needed = max(room, rest)
        if buffer.count == needed {
            guard start > 0 else { return }
            let end = count
            buffer.withMutableBytes { bytes in
                for index in 0..<rest { bytes[index] = bytes[start + index] }
                for index in rest..<end { bytes[index] = 0 }
            }
        } else {
            var other = try SecretBytes(zeroed: needed)
            buffer.withBytes { other.replace(at: 0, with: $0.extracting(start..<start + rest)) }
            buffer = other
        }
        count = rest
    }
}

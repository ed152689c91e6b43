// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// What has arrived on a socket and nobody has looked at yet, in locked memory: there are secrets in it.
package struct Inbox: ~Copyable {
    private var buffer: SecretBytes
    package private(set) var count = 0
    private var head: MessageHead?

    /// Room for a message as most are, so that one call of the kernel brings all of it.
    private static let room = 4096

    package init() throws(CryptoError) { buffer = try SecretBytes(zeroed: Self.room) }

    /// Takes bytes that have arrived.
    package mutating func append(_ bytes: Span<UInt8>) throws(CryptoError) {
        if bytes.count > buffer.count - count { try grow(to: count + bytes.count) }
        buffer.replace(at: count, with: bytes)
        count += bytes.count
    }

    /// Lends the free room, which is never empty, to be filled from its beginning.
    ///
    /// - Parameter receive: returns how many bytes it has put there; 0 or less for none.
    /// - Returns: what `receive` did.
    package mutating func fill(_ receive: (UnsafeMutableRawPointer?, Int) -> Int) throws(CryptoError) -> Int {
        if buffer.count == count { try grow(to: max(needed ?? 0, 2 * count)) }
        let (filled, room) = (count, buffer.count - count)
        let received = buffer.withMutableBytes { bytes in
            // The bytes from `filled` on are there, and are free.
            unsafe bytes.withUnsafeMutableBytes { unsafe receive($0.baseAddress.map { unsafe $0 + filled }, room) }
        }
        count += max(0, received)
        return received
    }

    private mutating func grow(to length: Int) throws(CryptoError) {
        var larger = try SecretBytes(zeroed: max(length, min(4 * buffer.count, Frame.longest)))
        let filled = count
        buffer.withBytes { larger.replace(at: 0, with: $0.extracting(0..<filled)) }
        buffer = larger
    }

    /// The length of the frame whose head is there.
    private var needed: Int? { head.map { Frame.headLength + $0.bodyLength + $0.secretsLength } }

    /// The next frame, if all of it is there.
    ///
    /// - Throws: for a head that is none, as soon as it is there.
    package mutating func next() throws(MessageError) -> Frame? {
        if head == nil, count >= Frame.headLength {
            head = try buffer.withBytes { bytes throws(MessageError) in
                try MessageHead(bytes.extracting(0..<Frame.headLength))
            }
        }
        guard let head, let end = needed, count >= end else { return nil }
        let secrets = end - head.secretsLength
        let body = buffer.withBytes { $0.array(Frame.headLength..<secrets) }
        do throws(CryptoError) {
            let secret = head.secretsLength > 0 ? Secret(try buffer.copy(of: secrets..<end)) : nil
            try drop(end)
            return Frame(head, body: body, secrets: secret)
        } catch {
            throw .tooLong
        }
    }

    /// Wipes the first bytes, and lets the memory go that a large frame took.
    private mutating func drop(_ end: Int) throws(CryptoError) {
        let rest = count - end
        var fresh = try SecretBytes(zeroed: max(Self.room, rest))
        buffer.withBytes { fresh.replace(at: 0, with: $0.extracting(end..<end + rest)) }
        buffer = fresh
        count = rest
        head = nil
    }
}

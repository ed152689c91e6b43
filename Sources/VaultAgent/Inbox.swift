// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// The received and unparsed bytes of a socket, in locked memory because of secrets.
package struct Inbox: ~Copyable {
    private var buffer: SecretBytes
    package private(set) var count = 0
    private var head: MessageHead?
    /// The version of the protocol in which frames arrive.
    private let version: UInt8

    /// The initial size, which fits most messages, so that one system call receives all of a message.
    private static let room = 4096

    package init(version: UInt8 = Frame.version) throws(CryptoError) {
        buffer = try SecretBytes(zeroed: Self.room)
        self.version = version
    }

    /// Appends received bytes.
    package mutating func append(_ bytes: Span<UInt8>) throws(CryptoError) {
        if bytes.count > buffer.count - count { try grow(to: count + bytes.count) }
        buffer.replace(at: count, with: bytes)
        count += bytes.count
    }

    /// Lends the free room, which is never empty, to be filled from its beginning.
    ///
    /// - Parameter receive: returns the number of received bytes, or 0 or less for none.
    /// - Returns: the result of `receive`.
    package mutating func fill(_ receive: (UnsafeMutableRawPointer?, Int) -> Int) throws(CryptoError) -> Int {
        if buffer.count == count { try grow(to: max(needed ?? 0, 2 * count)) }
        let (filled, room) = (count, buffer.count - count)
        let received = buffer.withMutableBytes { bytes in
            // The bytes from `filled` on exist, and are free.
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

    /// The length of the frame whose head has arrived.
    private var needed: Int? { head.map { Frame.headLength + $0.bodyLength + $0.secretsLength } }

    /// Returns the next frame, or `nil` if it is incomplete.
    ///
    /// - Throws: an error for an invalid head, as soon as the head has arrived.
    package mutating func next() throws(MessageError) -> Frame? {
        if head == nil, count >= Frame.headLength {
            head = try buffer.withBytes { bytes throws(MessageError) in
                try MessageHead(bytes.extracting(0..<Frame.headLength), version: version)
            }
        }
        guard let head, let end = needed, count >= end else { return nil }
        let secrets = end - head.secretsLength
        let body = buffer.withBytes { $0.array(Frame.headLength..<secrets) }
        do throws(CryptoError) {
            let secret = head.secretsLength > 0 ? Secret(try buffer.copy(of: secrets..<end)) : nil
            try drop(end)
            return Frame(head, body: body, secrets: secret)
        } catch { throw .tooLong }
    }

    /// Wipes the first bytes, and frees the memory of a large frame.
    private mutating func drop(_ end: Int) throws(CryptoError) {
        let rest = count - end
        var fresh = try SecretBytes(zeroed: max(Self.room, rest))
        buffer.withBytes { fresh.replace(at: 0, with: $0.extracting(end..<end + rest)) }
        buffer = fresh
        count = rest
        head = nil
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import Vault
internal import VaultAgent
internal import VaultCrypto

/// What a connection has received and nobody has looked at yet, in locked memory: it may hold a passphrase.
struct Inbox: ~Copyable {
    private var buffer: SecretBytes
    private(set) var count = 0
    private var head: MessageHead?

    private static let first = 4096

    init() throws(CryptoError) { buffer = try SecretBytes(zeroed: Self.first) }

    /// Takes what arrived and wipes it where it lies: the buffer is one of a pool, and the next connection may get it.
    mutating func append(_ arrived: ByteBuffer) throws(CryptoError) {
        let needed = count + arrived.readableBytes
        if needed > buffer.count { try grow(to: needed) }
        let place = count
        unsafe arrived.withUnsafeReadableBytes { bytes in
            // The bytes are there for the length of the closure.
            let span = unsafe Span<UInt8>(_unsafeElements: bytes.bindMemory(to: UInt8.self))
            buffer.replace(at: place, with: span)
        }
        arrived.wipe()
        count = needed
    }

    private mutating func grow(to needed: Int) throws(CryptoError) {
        var larger = try SecretBytes(zeroed: max(needed, 4 * buffer.count))
        let filled = count
        buffer.withBytes { larger.replace(at: 0, with: $0.extracting(0..<filled)) }
        buffer = larger
    }

    /// The next frame, if all of it is there.
    ///
    /// - Throws: for a head that is none, as soon as it is there.
    mutating func next() throws(MessageError) -> Frame? {
        if head == nil, count >= Frame.headLength {
            head = try buffer.withBytes { bytes throws(MessageError) in try MessageHead(bytes.extracting(0..<Frame.headLength)) }
        }
        guard let head else { return nil }
        let secrets = Frame.headLength + head.bodyLength
        let end = secrets + head.secretsLength
        guard count >= end else { return nil }
        let body = buffer.withBytes { $0.extracting(Frame.headLength..<secrets).array }
        var secret: Secret?
        if head.secretsLength > 0 {
            do throws(CryptoError) { secret = Secret(try buffer.copy(of: secrets..<end)) } catch { throw .tooLong }
        }
        try drop(end)
        self.head = nil
        return Frame(head, body: body, secrets: secret)
    }

    /// Lets the first bytes go, and the memory that a large frame took.
    private mutating func drop(_ length: Int) throws(MessageError) {
        let rest = count - length
        do throws(CryptoError) {
            var fresh = try SecretBytes(zeroed: max(Self.first, rest))
            buffer.withBytes { fresh.replace(at: 0, with: $0.extracting(length..<length + rest)) }
            buffer = fresh
        } catch {
            throw .tooLong
        }
        count = rest
    }
}

extension Span<UInt8> {
    fileprivate var array: [UInt8] {
        var copy: [UInt8] = []
        copy.reserveCapacity(count)
        for index in indices { copy.append(self[index]) }
        return copy
    }
}

extension ByteBuffer {
    /// Wipes the storage itself. Changing the buffer would make a copy first when somebody else has it too.
    func wipe() {
        unsafe withVeryUnsafeBytes { storage in
            let bytes = unsafe UnsafeMutableRawBufferPointer(mutating: storage)
            // The storage was allocated, and whoever else has the buffer is done with it.
            unsafe VaultCrypto.wipe(unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[readerIndex..<writerIndex]))
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import CSodium
import Synchronization

/// BLAKE2b (RFC 7693), keyed or not, with 32 or 64 bytes of output and neither salt nor personalisation.
///
/// The corresponding C functions are `crypto_generichash_init`, `_update` and `_final`.
@safe @usableFromInline package struct KeyedHash: ~Copyable {
    private let state: UnsafeMutableRawPointer

    /// Starts a hash without a key.
    ///
    /// - Parameter outputLength: 16 to 64 bytes; ``digest()`` gives 32.
    package init(outputLength: Int = 32) {
        precondition(Sodium.ready && (16...64).contains(outputLength))
        unsafe state = Self.makeState()
        unsafe crypto_generichash_init(Self.opaque(state), nil, 0, outputLength)
    }

    /// - Parameters:
    ///   - key: 16 to 64 bytes.
    ///   - outputLength: 32 or 64 bytes.
    package init(key: borrowing SecretBytes, outputLength: Int = 32) {
        precondition(Sodium.ready && (16...64).contains(key.count) && (outputLength == 32 || outputLength == 64))
        let state = unsafe Self.makeState()
        unsafe key.withPointer { _ = unsafe crypto_generichash_init(Self.opaque(state), $0, key.count, outputLength) }
        unsafe self.state = unsafe state
    }

    /// - Parameter publicKey: 16 to 64 bytes that are not secret, such as a salt.
    package init(publicKey: Span<UInt8>) {
        precondition(Sodium.ready && (16...64).contains(publicKey.count))
        let state = unsafe Self.makeState()
        unsafe publicKey.withPointer { key, count in
            _ = unsafe crypto_generichash_init(Self.opaque(state), key, count, 32)
        }
        unsafe self.state = unsafe state
    }

    // The state contains the key's block until the end, so it is wiped before it is released.
    deinit {
        unsafe sodium_memzero(state, Self.stateLength)
        unsafe HashStates.put(state)
    }

    @usableFromInline package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withPointer { bytes, count in
            _ = unsafe crypto_generichash_update(Self.opaque(state), bytes, UInt64(count))
        }
    }

    package mutating func update(_ label: StaticString) {
        _ = unsafe crypto_generichash_update(Self.opaque(state), label.utf8Start, UInt64(label.utf8CodeUnitCount))
    }

    package mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

    /// Adds an integer in little-endian order, in the width of its type.
    @inlinable package mutating func update<I: FixedWidthInteger>(_ integer: I) {
        // The span ends before the integer.
        unsafe withUnsafeBytes(of: integer.littleEndian) { unsafe update($0.bindMemory(to: UInt8.self).span) }
    }

    /// The 32-byte hash.
    package consuming func digest() -> Digest {
        var digest = Digest()
        unsafe withUnsafeMutablePointer(to: &digest.bytes) { output in
            unsafe output.withMemoryRebound(to: UInt8.self, capacity: 32) { output in
                _ = unsafe crypto_generichash_final(Self.opaque(state), output, 32)
            }
        }
        return digest
    }

    /// The hash as a key of `length` bytes, which must be the output length at the start.
    package consuming func secret(_ length: Int = 32) throws(CryptoError) -> SecretBytes {
        let output = try SecretBytes(zeroed: length)
        unsafe output.withPointer { _ = unsafe crypto_generichash_final(Self.opaque(state), $0, length) }
        Sodium.wipeStack()
        return output
    }

    /// The unkeyed hash of a byte string.
    package static func digest(_ bytes: Span<UInt8>) -> Digest {
        var hash = KeyedHash()
        hash.update(bytes)
        return hash.digest()
    }

    private static let stateLength = crypto_generichash_statebytes()

    private static func makeState() -> UnsafeMutableRawPointer {
        // crypto_generichash_state must be aligned to 64 bytes.
        unsafe HashStates.take() ?? .allocate(byteCount: stateLength, alignment: 64)
    }

    private static func opaque(_ state: UnsafeMutableRawPointer) -> OpaquePointer { OpaquePointer(state) }
}

/// A wiped state for the next hash: usually only one is in use, and memory with such alignment is expensive to
/// allocate.
@safe private enum HashStates {
    /// The state's address; 0 if there is none.
    private static let spare = Atomic<UInt>(0)

    static func take() -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: spare.exchange(0, ordering: .acquiring))
    }

    static func put(_ state: UnsafeMutableRawPointer) {
        let old = spare.exchange(UInt(bitPattern: state), ordering: .acquiringAndReleasing)
        if let old = unsafe UnsafeMutableRawPointer(bitPattern: old) { unsafe old.deallocate() }
    }
}

/// 32 bytes of public BLAKE2b output: a tag, a MAC or a checksum.
package struct Digest: Sendable {
    package var bytes: [32 of UInt8]

    package init() { bytes = .init(repeating: 0) }

    /// Reads the first 32 bytes of the span, which must have as many.
    package init(_ span: Span<UInt8>) { bytes = .init { span[$0] } }
}

extension Digest: Equatable {
    /// Compares in constant time: most digests here are MACs.
    package static func == (a: Digest, b: Digest) -> Bool { isEqualInConstantTime(a.bytes.span, b.bytes.span) }
}

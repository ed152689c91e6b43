// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

// Where secrets come out of Foundation's data, and leave their protection for it, because Apple's signatures say so.

extension NSData {
    /// Lends the bytes.
    func withSpan<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        // The bytes stay where they are as long as the data is held, which is as long as this call.
        let bytes = unsafe UnsafeRawBufferPointer(start: self.bytes, count: length)
        return try body(unsafe Span<UInt8>(_unsafeBytes: bytes))
    }
}

extension Secret {
    /// The caller has the secret in ordinary memory already; this is the copy that is kept.
    convenience init(copying data: NSData) throws(CryptoError) {
        self.init(try data.withSpan { bytes throws(CryptoError) in try SecretBytes(copying: bytes) })
    }

    /// What the vault keeps: a copy of the data, else the bytes of the object that the caller named.
    static func toStore(_ data: NSData?, else reference: ItemReference?) throws(VaultError) -> Secret? {
        guard let data else { return try reference?.secret() }
        do throws(CryptoError) { return try Secret(copying: data) } catch { throw .storage(StorageError(error)) }
    }
}

extension SecretBytes {
    /// The one copy that leaves its protection.
    borrowing func leaving() -> NSData {
        // The bytes are there for the length of the call, and copied in it.
        withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe NSData(bytes: $0.baseAddress, length: $0.count) } }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

// Conversions between secrets and Foundation's data, in ordinary memory, which Apple's signatures require.

extension NSData {
    /// Lends the bytes.
    func withSpan<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        // The bytes stay in place as long as the data is retained, which covers this call.
        let bytes = unsafe UnsafeRawBufferPointer(start: self.bytes, count: length)
        return try body(unsafe Span<UInt8>(_unsafeBytes: bytes))
    }
}

extension Secret {
    /// Copies a secret that the caller has in ordinary memory into locked memory.
    convenience init(copying data: NSData) throws(CryptoError) {
        self.init(try data.withSpan { bytes throws(CryptoError) in try SecretBytes(copying: bytes) })
    }

    /// Returns the secret to be stored: a copy of the data, else the bytes of the referenced object.
    static func toStore(_ data: NSData?, else reference: ItemReference?) throws(VaultError) -> Secret? {
        guard let data else { return try reference?.secret() }
        do throws(CryptoError) { return try Secret(copying: data) } catch { throw .storage(StorageError(error)) }
    }
}

extension SecretBytes {
    /// Returns the only copy in ordinary memory.
    borrowing func leaving() -> NSData {
        // The bytes are valid for the duration of the call, and copied in it.
        withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe NSData(bytes: $0.baseAddress, length: $0.count) } }
    }
}

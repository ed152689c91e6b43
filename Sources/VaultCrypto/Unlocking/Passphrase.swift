// SPDX-License-Identifier: Apache-2.0
import CSodium
@_spi(_Unicode) import Swift

/// A typed passphrase, prepared as RFC 8265's OpaqueString: 1 to 1,024 bytes of UTF-8 in NFC, without control
/// characters.
public struct Passphrase: Sendable {
    /// Bytes of UTF-8 in NFC.
    public static let longest = 1024

    /// The prepared bytes.
    package let secret: Secret

    /// Checks and normalizes.
    ///
    /// ASCII is unchanged. Otherwise non-ASCII spaces become U+0020 and the text is converted to NFC; unassigned code
    /// points are allowed. The standard library normalizes only strings, so a non-ASCII passphrase passes through one,
    /// whose storage is wiped in place.
    ///
    /// - Throws: `.unacceptablePassphrase`.
    public init(_ typed: borrowing SecretBytes) throws(CryptoError) {
        let isASCII = try typed.withBytes { bytes throws(CryptoError) in
            var isASCII = true
            for index in bytes.indices {
                let byte = bytes[index]
                if byte < 0x20 || byte == 0x7f { throw .unacceptablePassphrase(.controlCharacter) }
                if byte >= 0x80 { isASCII = false }
            }
            return isASCII
        }
        let prepared = isASCII ? try typed.copy() : try Self.normalized(typed)
        guard prepared.count > 0 else { throw .unacceptablePassphrase(.empty) }
        guard prepared.count <= Self.longest else { throw .unacceptablePassphrase(.tooLong) }
        secret = Secret(prepared)
    }

    /// A passphrase from a file, a descriptor or a pipe: one trailing LF or CRLF is removed.
    public init(line: borrowing SecretBytes) throws(CryptoError) {
        let length = line.withBytes { bytes in
            guard bytes.count > 0, bytes[bytes.count - 1] == 0x0a else { return bytes.count }
            return bytes.count > 1 && bytes[bytes.count - 2] == 0x0d ? bytes.count - 2 : bytes.count - 1
        }
        let typed = try line.copy(of: 0..<length)
        try self.init(typed)
    }

    private static func normalized(_ typed: borrowing SecretBytes) throws(CryptoError) -> SecretBytes {
        // NFC lengthens a text at most threefold; this is far above the bound that applies afterwards.
        guard typed.count <= 4 * longest else { throw .unacceptablePassphrase(.tooLong) }
        guard
            var text = typed.withBytes({ bytes in
                unsafe bytes.withUnsafeBufferPointer { unsafe String(validating: $0, as: UTF8.self) }
            })
        else { throw .unacceptablePassphrase(.invalidUTF8) }
        defer {
            text.withUTF8 { storage in
                // The string is local to this function and contiguous, so these are the bytes that were copied.
                unsafe Sodium.wipe(UnsafeMutableRawBufferPointer(mutating: UnsafeRawBufferPointer(storage)))
            }
        }
        var result = try SecretBytes(zeroed: 3 * typed.count)
        var length = 0
        for scalar in text._nfc {
            guard scalar.properties.generalCategory != .control else {
                throw .unacceptablePassphrase(.controlCharacter)
            }
            let mapped = scalar.properties.generalCategory == .spaceSeparator ? " " : scalar
            result.withMutableBytes { bytes in
                for unit in mapped.utf8 where length < bytes.count {
                    bytes[length] = unit
                    length += 1
                }
            }
        }
        return try result.copy(of: 0..<length)
    }
}

// SPDX-License-Identifier: Apache-2.0
import CSodium

extension SecretBytes {
    /// Decodes base64 with padding (RFC 4648, section 4); blanks and line ends count for nothing.
    ///
    /// - Returns: nil for what is no base64.
    ///
    /// The corresponding C function is `sodium_base642bin`, which takes as long for any text of a length.
    package static func decoding(base64 text: Span<UInt8>) throws(CryptoError) -> SecretBytes? {
        guard Sodium.ready else { throw .unavailable }
        let output = try SecretBytes(zeroed: text.count / 4 * 3 + 3)
        var length = 0
        // The output has room for all that the text can say.
        let result = unsafe output.withPointer { output in
            unsafe text.withPointer { text, count in
                unsafe text.withMemoryRebound(to: CChar.self, capacity: count) { text in
                    unsafe sodium_base642bin(
                        output, count / 4 * 3 + 3, text, count, " \n\r\t", &length, nil,
                        sodium_base64_VARIANT_ORIGINAL)
                }
            }
        }
        guard result == 0 else { return nil }
        return output.narrowed(to: 0..<length)
    }
}

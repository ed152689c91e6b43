// SPDX-License-Identifier: Apache-2.0
import CSodium

extension SecretBytes {
    /// Decodes base64 with padding (RFC 4648, section 4); spaces and line ends are ignored.
    ///
    /// - Returns: `nil` if the text is not base64.
    ///
    /// The corresponding C function is `sodium_base642bin`, which takes as long for any text of a length.
    package static func decoding(base64 text: Span<UInt8>) throws(CryptoError) -> SecretBytes? {
        try decoding(text, ignoring: " \n\r\t", sodium_base64_VARIANT_ORIGINAL)
    }

    /// Decodes base64 for URLs without padding (RFC 4648, section 5).
    ///
    /// - Returns: `nil` if the text is not in that form: other characters, padding, or unused bits other than 0.
    ///
    /// The corresponding C function is `sodium_base642bin`, which takes as long for any text of a length.
    package static func decoding(base64URL text: Span<UInt8>) throws(CryptoError) -> SecretBytes? {
        try decoding(text, ignoring: nil, sodium_base64_VARIANT_URLSAFE_NO_PADDING)
    }

    private static func decoding(
        _ text: Span<UInt8>, ignoring ignored: String?, _ variant: Int32
    ) throws(CryptoError) -> SecretBytes? {
        guard Sodium.ready else { throw .unavailable }
        let output = try SecretBytes(zeroed: text.count / 4 * 3 + 3)
        var length = 0
        // The output has room for everything that the text can encode.
        let result = unsafe output.withPointer { output in
            unsafe text.withPointer { text, count in
                unsafe text.withMemoryRebound(to: CChar.self, capacity: count) { text in
                    unsafe sodium_base642bin(
                        output, count / 4 * 3 + 3, text, count, ignored, &length, nil, variant)
                }
            }
        }
        guard result == 0 else { return nil }
        return output.narrowed(to: 0..<length)
    }
}

extension [UInt8] {
    /// Decodes base64 with padding (RFC 4648, section 4); not for secrets.
    ///
    /// - Returns: `nil` if the text is not base64.
    ///
    /// The corresponding C function is `sodium_base642bin`.
    package init?(base64 text: Span<UInt8>) {
        var length = 0
        var isWhole = false
        // The output has room for everything that the text can encode.
        unsafe self.init(unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { output, count in
            let capacity = output.count
            guard let start = output.baseAddress else { return }
            let result = unsafe text.withPointer { text, count in
                unsafe text.withMemoryRebound(to: CChar.self, capacity: count) { text in
                    unsafe sodium_base642bin(
                        start, capacity, text, count, nil, &length, nil, sodium_base64_VARIANT_ORIGINAL)
                }
            }
            isWhole = result == 0
            count = isWhole ? length : 0
        }
        guard isWhole else { return nil }
    }
}

/// Encodes bytes that are not secret as base64 with padding (RFC 4648, section 4).
///
/// The corresponding C function is `sodium_bin2base64`.
package func base64(_ bytes: Span<UInt8>) -> String {
    let length = (bytes.count + 2) / 3 * 4
    return unsafe String(unsafeUninitializedCapacity: length + 1) { output in
        let capacity = output.count
        // The output has room for the text and the terminating zero byte.
        return unsafe output.withMemoryRebound(to: CChar.self) { output in
            guard let start = output.baseAddress else { return 0 }
            return unsafe bytes.withPointer { bytes, count in
                _ = unsafe sodium_bin2base64(
                    start, capacity, bytes, count, sodium_base64_VARIANT_ORIGINAL)
                return length
            }
        }
    }
}

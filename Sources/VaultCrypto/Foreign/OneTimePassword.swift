// SPDX-License-Identifier: Apache-2.0

/// The reason why a text is not a seed of one-time passwords. Contains nothing of the text.
package enum OneTimePasswordError: Error, Equatable {
    /// The text is not an otpauth:// URI for time-based passwords.
    case notTimeBased
    /// The algorithm is not SHA1, SHA256 or SHA512.
    case unknownAlgorithm
    /// The number of digits or the period is out of range.
    case unusableNumber
    /// The text is neither an otpauth:// URI nor base32.
    case notBase32
    case cryptography(CryptoError)
}

/// A generator of time-based one-time passwords (RFC 6238): from an `otpauth://totp/…` URI, as in QR codes, or the
/// secret alone in base32.
package struct OneTimePassword: ~Copyable {
    private let key: SecretBytes
    private var hash = MessageAuthentication.sha1
    private var digits = 6
    /// In seconds.
    package private(set) var period = 30

    private static let scheme = "otpauth://"

    package init(_ text: Span<UInt8>) throws(OneTimePasswordError) {
        guard Self.isURI(text) else {
            key = try Base32.decoded(text)
            return
        }
        let kind = Self.scheme.utf8.count..<Self.scheme.utf8.count + 5
        guard kind.upperBound <= text.count, zip(kind, "totp/".utf8).allSatisfy({ text[$0] | 0x20 == $1 | 0x20 }),
            let question = text.indices.first(where: { text[$0] == UInt8(ascii: "?") })
        else { throw .notTimeBased }
        var secret: Range<Int>?
        var start = question + 1
        while start < text.count {
            let end =
                (start..<text.count).first { text[$0] == UInt8(ascii: "&") || text[$0] == UInt8(ascii: "#") }
                ?? text.count
            let split = (start..<end).first { text[$0] == UInt8(ascii: "=") } ?? end
            let name = Self.string(text, start..<split)
            let value = min(split + 1, end)..<end
            switch name {
            case "secret": secret = value
            case "algorithm":
                switch Self.string(text, value).uppercased() {
                case "SHA1": hash = .sha1
                case "SHA256": hash = .sha256
                case "SHA512": hash = .sha512
                default: throw .unknownAlgorithm
                }
            case "digits": digits = try Self.number(text, value, in: 6...10)
            case "period": period = try Self.number(text, value, in: 1...86_400)
            // The issuer, an image and other parameters do not affect the password.
            default: break
            }
            start = end + 1
            if end < text.count, text[end] == UInt8(ascii: "#") { break }
        }
        guard let secret else { throw .notTimeBased }
        key = try Base32.decoded(text.extracting(secret))
    }

    /// Whether the text identifies itself as a seed.
    package static func isURI(_ text: Span<UInt8>) -> Bool {
        text.count >= scheme.utf8.count && zip(text.indices, scheme.utf8).allSatisfy { text[$0] == $1 }
    }

    private static func number(
        _ text: Span<UInt8>, _ range: Range<Int>, in bounds: ClosedRange<Int>
    ) throws(OneTimePasswordError) -> Int {
        guard let number = Int(string(text, range)), bounds.contains(number) else { throw .unusableNumber }
        return number
    }

    private static func string(_ text: Span<UInt8>, _ range: Range<Int>) -> String {
        String(decoding: range.map { text[$0] }, as: UTF8.self)
    }

    /// The password at a time, by RFC 4226 section 5.3 over the number of periods since 1970.
    ///
    /// - Throws: `.unavailable` for SHA-1 without libcrypto.
    package func code(at seconds: UInt64) throws(CryptoError) -> String {
        let counter = seconds / UInt64(period)
        let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> UInt64(56 - 8 * $0)) }
        let hash = try self.hash.code(of: message.span, key: key)
        var number = hash.withBytes { bytes in
            let offset = Int(bytes[bytes.count - 1] & 15)
            return (0..<4).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[offset + $1]) } & 0x7fff_ffff
        }
        number %= (0..<digits).reduce(UInt64(1)) { power, _ in power * 10 }
        let text = String(number)
        return String(repeating: "0", count: digits - text.count) + text
    }
}

/// RFC 4648 section 6, as typed by people: also in lowercase, in groups, with or without padding.
package enum Base32 {
    package static func decoded(_ text: Span<UInt8>) throws(OneTimePasswordError) -> SecretBytes {
        var output: SecretBytes
        do throws(CryptoError) { output = try SecretBytes(zeroed: text.count * 5 / 8 + 1) } catch {
            throw .cryptography(error)
        }
        var (bits, held, count) = (0, UInt32(0), 0)
        var isPadding = false
        for index in text.indices {
            let byte = text[index]
            let value: UInt8
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "-"): continue
            case UInt8(ascii: "="), UInt8(ascii: "%"):
                isPadding = true
                continue
            // %3D is padding inside a URI.
            case UInt8(ascii: "3"), UInt8(ascii: "D"), UInt8(ascii: "d"):
                if isPadding { continue }
                value = byte == UInt8(ascii: "3") ? 27 : 3
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = byte - UInt8(ascii: "2") + 26
            default: throw .notBase32
            }
            guard !isPadding else { throw .notBase32 }
            held = held << 5 | UInt32(value)
            bits += 5
            guard bits >= 8 else { continue }
            bits -= 8
            let (index, decoded) = (count, UInt8(truncatingIfNeeded: held >> UInt32(bits)))
            output.withMutableBytes { $0[index] = decoded }
            count += 1
        }
        guard count > 0 else { throw .notBase32 }
        return output.narrowed(to: 0..<count)
    }
}

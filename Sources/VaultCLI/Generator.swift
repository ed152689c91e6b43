// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault
internal import VaultCrypto

/// A random secret, and its entropy.
struct Generator: ~Copyable {
    static let defaultSymbols = "!#$%&*+-=?@^_"

    private let secret: SecretBytes
    /// The entropy: the base-2 logarithm of the number of equally likely results.
    let entropyBits: Double

    consuming func bytes() -> SecretBytes { secret }

    /// Generates letters, digits and symbols, all equally likely.
    ///
    /// - Parameter symbols: ASCII characters other than letters and digits; may be empty.
    static func characters(_ length: Int, symbols: String) throws -> Generator {
        let alphabet = RandomText.lettersAndDigits + symbols.utf8
        return Generator(
            secret: try RandomText.characters(length, of: alphabet),
            entropyBits: Double(length) * log2(Double(alphabet.count)))
    }

    /// Generates words of ``WordList``, joined by hyphens.
    static func words(_ count: Int) throws -> Generator {
        let words = WordList.words
        var text = try SecretBuffer(capacity: count * 12)
        for index in 0..<count {
            if index > 0 { try text.append(UInt8(ascii: "-")) }
            try text.append(words[RandomText.choice(of: words.count)].utf8)
        }
        return Generator(secret: try text.bytes(), entropyBits: Double(count) * log2(Double(words.count)))
    }
}

/// A rough upper bound on the effort of guessing a passphrase; used for a warning, never for a refusal.
enum PassphraseStrength {
    /// Estimates the bits from the variety of characters, counting each run of equal or neighbouring ones once.
    static func estimate(_ passphrase: Passphrase) -> Double {
        passphrase.secret.withBytes { bytes in
            var pool = 0.0
            var (hasLower, hasUpper, hasDigit, hasOther, hasWide) = (false, false, false, false, false)
            var distinct = 0
            for index in bytes.indices {
                switch bytes[index] {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): hasLower = true
                case UInt8(ascii: "A")...UInt8(ascii: "Z"): hasUpper = true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): hasDigit = true
                case 0x80...: hasWide = true
                default: hasOther = true
                }
                if index == 0 || abs(Int(bytes[index]) - Int(bytes[index - 1])) > 1 { distinct += 1 }
            }
            pool +=
                (hasLower ? 26 : 0) + (hasUpper ? 26 : 0) + (hasDigit ? 10 : 0) + (hasOther ? 33 : 0)
                + (hasWide ? 64 : 0)
            // English text has far less than the 4.7 bits of a random letter; long lower-case passphrases are mostly
            // words.
            let perCharacter =
                hasLower && !hasUpper && !hasDigit && !hasWide && bytes.count > 16 ? 2.3 : log2(max(pool, 1))
            return Double(distinct) * perCharacter
        }
    }

    private static let leastBits = 40.0

    static func isWeak(_ passphrase: Passphrase) -> Bool { estimate(passphrase) < leastBits }

    static func word(forBits bits: Double) -> String {
        switch bits {
        case ..<leastBits: "weak"
        case ..<60: "fair"
        case ..<80: "good"
        default: "strong"
        }
    }
}

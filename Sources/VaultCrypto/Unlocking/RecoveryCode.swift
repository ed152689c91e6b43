// SPDX-License-Identifier: Apache-2.0

/// 160 random bits that open a vault, in a form to be written down: eight groups of four characters of Crockford's
/// base32 and a check character each, such as `9T6QM-…`.
///
/// The check character is a function of the four before it and of the group's place. It detects every wrong character,
/// two swapped characters and two swapped groups, and reveals nothing about the other groups: a guesser could compute
/// it as well.
public struct RecoveryCode: Sendable {
    package static let groupCount = 8
    static let groupLength = 5

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// 20 bytes.
    package let secret: Secret

    /// Generates a code.
    public init(_ random: any RandomSource) throws(CryptoError) { secret = Secret(try random.secret(20)) }

    /// Takes the secret of a code that another process has read.
    ///
    /// - Parameter secret: 20 bytes.
    /// - Throws: `.unacceptableRecoveryCode(.length)`.
    package init(secret: Secret) throws(CryptoError) {
        guard secret.count == 20 else { throw .unacceptableRecoveryCode(.length) }
        self.secret = secret
    }

    /// Reads a typed code. Case, hyphens and white space do not matter; O is read as 0, I and L as 1.
    ///
    /// - Throws: `.unacceptableRecoveryCode` with the first wrong group.
    public init(_ typed: borrowing SecretBytes) throws(CryptoError) {
        var values = try SecretBytes(zeroed: Self.groupCount * Self.groupLength)
        let count = try values.withMutableBytes { values throws(CryptoError) in
            try typed.withBytes { typed throws(CryptoError) in
                var count = 0
                for index in typed.indices {
                    let byte = typed[index]
                    if byte == 0x2d || byte == 0x20 || (0x09...0x0d).contains(byte) { continue }
                    guard count < values.count else { throw .unacceptableRecoveryCode(.length) }
                    guard let value = Self.value(of: byte) else {
                        throw .unacceptableRecoveryCode(.group(count / Self.groupLength + 1))
                    }
                    values[count] = value
                    count += 1
                }
                return count
            }
        }
        let (complete, isWhole) = (count / Self.groupLength, count == Self.groupCount * Self.groupLength)
        let wrong = values.withBytes { values in (0..<complete).first { !Self.isRight(values, group: $0) } }
        if let wrong { throw .unacceptableRecoveryCode(.group(wrong + 1)) }
        guard isWhole else { throw .unacceptableRecoveryCode(.length) }
        var bytes = try SecretBytes(zeroed: 20)
        bytes.withMutableBytes { bytes in
            values.withBytes { values in
                for bit in 0..<160 {
                    let character = values[bit / 20 * Self.groupLength + bit % 20 / 5]
                    bytes[bit / 8] |= (character >> UInt8(4 - bit % 5) & 1) << UInt8(7 - bit % 8)
                }
            }
        }
        secret = Secret(bytes)
    }

    /// The code as displayed, 47 characters.
    public func text() throws(CryptoError) -> SecretBytes {
        var text = try SecretBytes(zeroed: Self.groupCount * (Self.groupLength + 1) - 1)
        text.withMutableBytes { text in
            secret.withBytes { bytes in
                for group in 0..<Self.groupCount {
                    let start = group * (Self.groupLength + 1)
                    if group > 0 { text[start - 1] = 0x2d }
                    var sum = UInt8(group)
                    for index in 0..<4 {
                        var value: UInt8 = 0
                        for bit in (group * 20 + index * 5)..<(group * 20 + index * 5 + 5) {
                            value = value << 1 | bytes[bit / 8] >> UInt8(7 - bit % 8) & 1
                        }
                        text[start + index] = Self.alphabet[Int(value)]
                        sum = Self.doubled(sum ^ value)
                    }
                    text[start + 4] = Self.alphabet[Int(sum)]
                }
            }
        }
        return text
    }

    private static func isRight(_ values: Span<UInt8>, group: Int) -> Bool {
        var sum = UInt8(group)
        for index in 0..<4 { sum = doubled(sum ^ values[group * groupLength + index]) }
        return sum == values[group * groupLength + 4]
    }

    /// Multiplies by x in GF(2^5) with x^5 + x^2 + 1: each place of a group has a different weight.
    private static func doubled(_ value: UInt8) -> UInt8 { value << 1 & 0x1f ^ (value & 0x10 == 0 ? 0 : 0x05) }

    private static func value(of byte: UInt8) -> UInt8? {
        let upper = (0x61...0x7a).contains(byte) ? byte - 0x20 : byte
        switch upper {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        default: return alphabet.firstIndex(of: upper).map(UInt8.init)
        }
    }
}

/// The reason why a text is not a recovery code.
public enum RecoveryCodeFlaw: Equatable, Sendable {
    /// The code does not have 40 characters.
    case length
    /// The group, 1 to 8, has a character outside Crockford's alphabet or a wrong check character.
    case group(Int)
}

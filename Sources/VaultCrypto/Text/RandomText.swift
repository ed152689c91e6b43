// SPDX-License-Identifier: Apache-2.0

/// Secret random text, in locked memory from the first byte.
package enum RandomText {
    package static let lettersAndDigits =
        Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)

    /// Returns random characters of an alphabet, all equally likely.
    ///
    /// - Parameter alphabet: 1 to 65,536 characters.
    package static func characters(_ count: Int, of alphabet: [UInt8]) throws(CryptoError) -> SecretBytes {
        var secret = try SecretBytes(zeroed: count)
        for index in 0..<count {
            let chosen = alphabet[try choice(of: alphabet.count)]
            secret.withMutableBytes { $0[index] = chosen }
        }
        return secret
    }

    /// Returns a number below `count`, all equally likely, from random bytes that exist only in locked memory.
    package static func choice(of count: Int) throws(CryptoError) -> Int {
        let limit = 65_536 - 65_536 % count
        while true {
            let drawn = try SecretBytes(random: 2).withBytes { Int($0[0]) << 8 | Int($0[1]) }
            if drawn < limit { return drawn % count }
        }
    }
}

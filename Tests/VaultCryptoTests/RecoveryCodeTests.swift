// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

struct RecoveryCodeTests {
    private let code: RecoveryCode
    private let text: [UInt8]

    init() throws {
        code = try RecoveryCode(SeededRandom("code"))
        text = try code.text().exposed
    }

    private func parse(_ text: [UInt8]) throws -> [UInt8] {
        try RecoveryCode(SecretBytes(copying: text.span)).secret.exposed
    }

    private func parse(_ text: String) throws -> [UInt8] { try parse(Array(text.utf8)) }

    @Test func `a code is eight groups of five, and is read as it was written`() throws {
        #expect(text.count == 47 && code.secret.count == 20)
        let groups = String(decoding: text, as: UTF8.self).split(separator: "-")
        #expect(groups.count == 8 && groups.allSatisfy { $0.count == 5 })
        #expect(try parse(text) == code.secret.exposed)
    }

    /// Codes computed by other code (Python) from the description: groups of 20 bits, most significant first. The check
    /// character starts as the group's number, from 0; for each of the four characters the value is added and the sum
    /// doubled in GF(2^5), with x^5 + x^2 + 1.
    @Test func `known codes`() throws {
        #expect(try parse("00000-0000G-00005-0000N-0000A-0000T-0000F-0000Z") == [UInt8](repeating: 0, count: 20))
        #expect(try parse("000G5-40R4X-0M30R-E209C-185G1-R38E2-1W813-24GKP") == Array(0..<20))
    }

    @Test func `case, hyphens, blanks and letters that look like digits do not matter`() throws {
        let plain = String(decoding: text, as: UTF8.self)
        let loose = plain.lowercased().map { character in
            switch character {
            case "-": " "
            case "0": "O"
            case "1": "l"
            default: String(character)
            }
        }
        #expect(try parse(" " + loose.joined() + "\n") == code.secret.exposed)
        #expect(try parse(plain.filter { $0 != "-" }) == code.secret.exposed)
    }

    @Test func `every wrong character is found, in its group`() throws {
        let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZU*".utf8)
        for index in text.indices where text[index] != UInt8(ascii: "-") {
            for wrong in alphabet where wrong != text[index] {
                var typed = text
                typed[index] = wrong
                #expect(throws: CryptoError.unacceptableRecoveryCode(.group(index / 6 + 1))) { try parse(typed) }
            }
        }
    }

    @Test func `two characters of a group, or two groups, that were swapped are found`() throws {
        for seed in 0..<20 {
            let text = try RecoveryCode(SeededRandom("swap \(seed)")).text().exposed
            for group in 0..<8 {
                for (a, b) in [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (0, 4)]
                where text[group * 6 + a] != text[group * 6 + b] {
                    var typed = text
                    typed.swapAt(group * 6 + a, group * 6 + b)
                    #expect(throws: CryptoError.unacceptableRecoveryCode(.group(group + 1))) { try parse(typed) }
                }
                guard group < 7 else { continue }
                var typed = text
                for index in 0..<5 { typed.swapAt(group * 6 + index, group * 6 + 6 + index) }
                #expect(throws: CryptoError.self) { try parse(typed) }
            }
        }
    }

    @Test(arguments: ["", "-", "7ZQ2K", String(repeating: "0", count: 39), String(repeating: "0", count: 41), "é"])
    func `what is too short, too long or no text is refused`(typed: String) {
        #expect(throws: CryptoError.self) { try parse(typed) }
    }
}

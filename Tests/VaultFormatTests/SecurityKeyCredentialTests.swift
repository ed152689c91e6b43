// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

/// The blob of a slot that a security key opens.
struct SecurityKeyCredentialTests {
    /// A blob of 55 bytes: version 1, a verified holder, an identifier of 19 bytes, the salt, the identifier.
    private static let blob =
        [1, 1, 19, 0] + (0..<32).map { UInt8(0x40 + $0) } + Array("a key's own 19 byte".utf8)

    private func parsed(_ bytes: [UInt8]) throws(FormatError) -> SecurityKeyCredential {
        try SecurityKeyCredential(parsing: bytes.span)
    }

    private func changed(_ offset: Int, to value: UInt8) -> [UInt8] {
        var bytes = Self.blob
        bytes[offset] = value
        return bytes
    }

    @Test(arguments: [0, 1, 4, 35]) func `a blob without its salt is refused`(length: Int) {
        #expect(throws: FormatError.truncated(.annex)) { try parsed(Array(Self.blob[..<length])) }
    }

    @Test func `another version and an unknown flag are those of a newer writer`() {
        for value in [0, 2, 255] as [UInt8] {
            #expect(throws: FormatError.unsupported(.annex)) { try parsed(changed(0, to: value)) }
        }
        for bit in 1..<8 {
            #expect(throws: FormatError.unsupported(.annex)) { try parsed(changed(1, to: 1 << bit)) }
        }
    }

    @Test(arguments: [(2, UInt8(18)), (2, 20), (2, 0), (3, 1), (3, 255)])
    func `a length that is not that of the rest is refused`(offset: Int, value: UInt8) {
        #expect(throws: FormatError.outOfBounds(.annex)) { try parsed(changed(offset, to: value)) }
    }

    @Test(arguments: [0, 15, 1024, 1600]) func `an identifier that no key makes is neither read nor written`(
        length: Int
    ) {
        let identifier = [UInt8](repeating: 9, count: length)
        let salt = [UInt8](repeating: 0, count: 32)
        #expect(throws: FormatError.outOfBounds(.annex)) {
            try parsed([1, 0, UInt8(length & 0xff), UInt8(length >> 8)] + salt + identifier)
        }
        #expect(throws: FormatError.outOfBounds(.annex)) {
            try SecurityKeyCredential(identifier: identifier, salt: salt, isVerified: false)
        }
    }

    @Test func `bytes that are added or cut off are noticed`() {
        #expect(throws: FormatError.outOfBounds(.annex)) { try parsed(Self.blob + [0]) }
        #expect(throws: FormatError.outOfBounds(.annex)) { try parsed(Self.blob.dropLast()) }
    }

    @Test func `the example is read and written byte for byte`() throws {
        let credential = try parsed(Self.blob)
        #expect(credential.isVerified)
        #expect(credential.salt == (0..<32).map { UInt8(0x40 + $0) })
        #expect(credential.identifier == Array("a key's own 19 byte".utf8))
        #expect(credential.encoded == Self.blob)
        #expect(try !parsed(changed(1, to: 0)).isVerified)
    }

    @Test func `every length of an identifier comes back`() throws {
        let random = SeededRandom("security keys")
        for length in [16, 17, 48, 255, 256, 1022, 1023] {
            let credential = try SecurityKeyCredential(
                identifier: random.bytes(length), salt: random.bytes(32), isVerified: length % 2 == 0)
            #expect(try parsed(credential.encoded) == credential)
        }
    }
}

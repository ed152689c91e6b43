// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultCrypto

struct OneTimePasswordTests {
    /// Appendix B of RFC 6238: 8 digits, 30 seconds, and for each hash a key of the hash's length.
    @Test(
        arguments: [
            (59, "94287082", "46119246", "90693936"), (1_111_111_109, "07081804", "68084774", "25091201"),
            (1_111_111_111, "14050471", "67062674", "99943326"), (1_234_567_890, "89005924", "91819424", "93441116"),
            (2_000_000_000, "69279037", "90698825", "38618901"), (20_000_000_000, "65353130", "77737706", "47863826"),
        ] as [(UInt64, String, String, String)]) func `the passwords are those of RFC 6238`(
            time: UInt64, sha1: String, sha256: String, sha512: String
        ) throws
    {
        #expect(try Self.password("algorithm=SHA1&digits=8", keyLength: 20).code(at: time) == sha1)
        #expect(try Self.password("algorithm=SHA256&digits=8", keyLength: 32).code(at: time) == sha256)
        #expect(
            try Self.password("period=30&algorithm=sha512&digits=8&issuer=x", keyLength: 64).code(at: time) == sha512)
    }

    @Test(arguments: [
        "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "gezd gnbv gy3t qojq gezd gnbv gy3t qojq",
        "GEZDGNBVGY3TQOJQ-GEZDGNBVGY3TQOJQ====",
    ])
    func `a key alone, as people write it, means SHA-1, six digits and thirty seconds`(key: String) throws {
        #expect(try OneTimePassword(Array(key.utf8).span).code(at: 59) == "287082")
    }

    @Test(arguments: [
        "", "=", "not base32!", "GEZD1", "otpauth://", "otpauth://hotp/a?secret=GEZDGNBV&counter=1", "otpauth://totp/a",
        "otpauth://totp/a?issuer=x", "otpauth://totp/a?secret=", "otpauth://totp/a?secret=GEZD0",
        "otpauth://totp/a?secret=GEZDGNBV&digits=4",
        "otpauth://totp/a?secret=GEZDGNBV&digits=x", "otpauth://totp/a?secret=GEZDGNBV&period=0",
        "otpauth://totp/a?secret=GEZDGNBV&algorithm=MD5",
    ]) func `what is none of it is refused`(text: String) throws {
        #expect(throws: OneTimePasswordError.self) { _ = try OneTimePassword(Array(text.utf8).span).code(at: 0) }
    }

    /// RFC 4648, section 10.
    @Test(arguments: [
        ("MY======", "f"), ("MZXQ====", "fo"), ("MZXW6===", "foo"), ("MZXW6YQ%3d", "foob"), ("MZXW6YTB", "fooba"),
        ("mzxw6ytboi", "foobar"),
    ]) func `base32 is that of RFC 4648`(text: String, plain: String) throws {
        let decoded = try Base32.decoded(Array(text.utf8).span)
        #expect(decoded.withBytes { span in String(decoding: span.indices.map { span[$0] }, as: UTF8.self) } == plain)
    }

    /// Returns a one-time password with the RFC's example key: the digits 1 to 0, repeated up to `keyLength`.
    private static func password(_ parameters: String, keyLength: Int) throws -> OneTimePassword {
        let ten = "GEZDGNBVGY3TQOJQ"
        let key =
            String(repeating: ten, count: keyLength / 10)
            + [20: "", 32: "GEZA", 64: "GEZDGNA"][keyLength, default: "?"]
        return try OneTimePassword(Array("otpauth://totp/Example:ada?secret=\(key)&\(parameters)".utf8).span)
    }
}

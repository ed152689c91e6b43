// SPDX-License-Identifier: Apache-2.0
import CommonCrypto
import Foundation
import TestSupport
import Testing

/// Contexts as plain memory, and the refusals of digests, codes, derived keys and random bytes.
@Suite struct DigestTests {
    @Test func `a context is copied by assignment, and needs no end`() {
        var context = CC_SHA256_CTX()
        #expect(CC_SHA256_Init(&context) == 1 && CC_SHA256_Update(&context, "abc", 3) == 1)
        var copy = context
        #expect(CC_SHA256_Update(&context, "def", 3) == 1)
        var (first, second) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
        #expect(CC_SHA256_Final(&first, &context) == 1 && CC_SHA256_Final(&second, &copy) == 1)
        #expect(first == digests["SHA256"]?.one(Array("abcdef".utf8)))
        #expect(second == digests["SHA256"]?.one(Array("abc".utf8)))

        var code = CCHmacContext()
        CCHmacInit(&code, CCHmacAlgorithm(kCCHmacAlgSHA512), "key", 3)
        CCHmacUpdate(&code, "abc", 3)
        var other = code
        CCHmacUpdate(&other, "def", 3)
        var (whole, part) = ([UInt8](repeating: 0, count: 64), [UInt8](repeating: 0, count: 64))
        CCHmacFinal(&other, &whole)
        CCHmacFinal(&code, &part)
        #expect(whole == CommonCryptoTests.code("SHA512", key: Array("key".utf8), Array("abcdef".utf8)))
        #expect(part == CommonCryptoTests.code("SHA512", key: Array("key".utf8), Array("abc".utf8)))
    }

    @Test func `nothing of the message or the key stays in a context that has ended`() {
        func isWiped<Context>(_ context: Context, butFirst count: Int = 0) -> Bool {
            withUnsafeBytes(of: context) { $0.dropFirst(count).allSatisfy { $0 == 0 } }
        }
        var context = CC_SHA1_CTX()
        var output = [UInt8](repeating: 0, count: 64)
        _ = (CC_SHA1_Init(&context), CC_SHA1_Update(&context, "secret", 6))
        #expect(!isWiped(context) && CC_SHA1_Final(&output, &context) == 1 && isWiped(context))
        var code = CCHmacContext()
        CCHmacInit(&code, CCHmacAlgorithm(kCCHmacAlgSHA512), "secret", 6)
        CCHmacUpdate(&code, "message", 7)
        CCHmacFinal(&code, &output)
        // The algorithm stays.
        #expect(isWiped(code, butFirst: 8))
    }

    @Test func `a context that has ended, and a wrong call, give no value twice`() {
        func again(_ algorithm: Int) -> [UInt8] {
            var code = CCHmacContext()
            var output = [UInt8](repeating: 0, count: 64)
            CCHmacInit(&code, CCHmacAlgorithm(algorithm), "key", 3)
            CCHmacFinal(&code, &output)
            CCHmacUpdate(&code, "abc", 3)
            CCHmacFinal(&code, &output)
            return output
        }
        for algorithm in [kCCHmacAlgSHA1, kCCHmacAlgMD5, kCCHmacAlgSHA256, kCCHmacAlgSHA512] {
            #expect(again(algorithm) != again(algorithm))
        }
        // Nothing is written for an unknown algorithm, of which nobody knows the length.
        #expect(again(99) == [UInt8](repeating: 0, count: 64))
        func withoutKey() -> [UInt8] {
            var output = [UInt8](repeating: 0, count: 32)
            CCHmac(CCHmacAlgorithm(kCCHmacAlgSHA256), nil, 5, "abc", 3, &output)
            return output
        }
        #expect(withoutKey() != withoutKey())
        CCHmacInit(nil, 0, nil, 0)
        CCHmacUpdate(nil, nil, 5)
        CCHmacFinal(nil, nil)

        var context = CC_SHA512_CTX()
        var output = [UInt8](repeating: 0, count: 64)
        #expect(CC_SHA512_Init(nil) == 0 && CC_SHA512_Update(nil, "a", 1) == 0 && CC_SHA512_Final(nil, &context) == 0)
        #expect(CC_SHA512_Init(&context) == 1 && CC_SHA512_Update(&context, nil, 1) == 0)
        #expect(CC_SHA512_Update(&context, nil, 0) == 1 && CC_SHA512_Final(&output, nil) == 0)
        #expect(CC_SHA512(nil, 1, &output) == nil && CC_SHA512("", 0, nil) == nil)
        #expect(CC_SHA512(nil, 0, &output) != nil && output == digests["SHA512"]?.one([]))
        // An ended context is zero, and takes more without a trap.
        var md5 = CC_MD5_CTX()
        for _ in 0..<3 { _ = (CC_MD5_Update(&md5, "abc", 3), CC_MD5_Final(&output, &md5)) }
    }

    @Test func `MD2, which libcrypto lacks, fails without a constant`() {
        var (first, second) = ([UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 16))
        #expect(CC_MD2("abc", 3, &first) == nil && CC_MD2("abc", 3, &second) == nil && first != second)
        var context = CC_MD2_CTX()
        #expect(CC_MD2_Init(&context) == 0 && CC_MD2_Update(&context, "abc", 3) == 0)
        #expect(CC_MD2_Final(&first, &context) == 0)
    }

    @Test func `a message longer than 32 bits is coded whole`() throws {
        // Untouched pages of the kernel's, which need no memory.
        let length = 1 << 32 + 1
        let zero = try #require(mmap(nil, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
        defer { munmap(zero, length) }
        var (whole, parts) = ([UInt8](repeating: 0, count: 20), [UInt8](repeating: 0, count: 20))
        CCHmac(CCHmacAlgorithm(kCCHmacAlgSHA1), "key", 3, zero, 1 << 32 + 1, &whole)
        var code = CCHmacContext()
        CCHmacInit(&code, CCHmacAlgorithm(kCCHmacAlgSHA1), "key", 3)
        for _ in 0..<4 { CCHmacUpdate(&code, zero, 1 << 30) }
        CCHmacUpdate(&code, zero, 1)
        CCHmacFinal(&code, &parts)
        #expect(whole == parts && CommonCryptoTests.code("SHA1", key: Array("key".utf8), [0]) != whole)
    }

    @Test func `a derived key needs a password, rounds and room`() {
        var output = [UInt8](repeating: 0, count: 20)
        func derive(
            _ password: UnsafePointer<CChar>?, _ salt: [UInt8]?, saltLength: Int, algorithm: Int = kCCPBKDF2,
            rounds: UInt32 = 1, length: Int = 20
        ) -> Int32 {
            CCKeyDerivationPBKDF(
                CCPBKDFAlgorithm(algorithm), password, 8, salt, saltLength,
                CCPseudoRandomAlgorithm(kCCPRFHmacAlgSHA1), rounds, &output, length)
        }
        // RFC 6070.
        #expect(derive("password", Array("salt".utf8), saltLength: 4) == kCCSuccess)
        #expect(output == bytes("0c60c80f961f0e71f3a9b524af6012062fe037a6"))
        #expect(derive("password", nil, saltLength: 0) == kCCSuccess)
        #expect(derive("password", nil, saltLength: 1) == kCCParamError)
        #expect(derive(nil, nil, saltLength: 0) == kCCParamError)
        #expect(derive("password", nil, saltLength: 0, rounds: 0) == kCCParamError)
        #expect(derive("password", nil, saltLength: 0, length: 0) == kCCParamError)
        #expect(derive("password", nil, saltLength: 0, algorithm: 1) == kCCParamError)
        for function in [0, 6, -1] {
            #expect(
                CCKeyDerivationPBKDF(2, "password", 8, nil, 0, UInt32(truncatingIfNeeded: function), 1, &output, 20)
                    == kCCParamError)
        }
        #expect(CCKeyDerivationPBKDF(2, "", 0, nil, 0, 3, 1, &output, 20) == kCCSuccess)
    }

    @Test func `rounds are measured, and at least ten thousand`() {
        let short = CCCalibratePBKDF(2, 8, 16, 3, 32, 1)
        let long = CCCalibratePBKDF(2, 8, 16, 3, 32, 2000)
        #expect(short >= 10_000 && short < 10_000_000 && long > short)
        for bad in [
            CCCalibratePBKDF(2, 8, 133, 3, 32, 1), CCCalibratePBKDF(1, 8, 8, 3, 32, 1),
            CCCalibratePBKDF(2, 8, 8, 9, 32, 1), CCCalibratePBKDF(2, 8, 8, 3, 0, 1),
        ] { #expect(bad == .max) }
    }

    @Test func `random bytes fill the buffer`() {
        var bytes = [UInt8](repeating: 0, count: 1000)
        #expect(CCRandomGenerateBytes(&bytes, bytes.count) == kCCSuccess && Set(bytes).count > 100)
        #expect(CCRandomGenerateBytes(nil, 1) == kCCParamError && CCRandomGenerateBytes(nil, 0) == kCCSuccess)
    }

    @Test func `a wrapped key of wrong lengths is refused, and the length becomes 0`() {
        let key = [UInt8](0..<16)
        func wrap(_ kek: Int, _ raw: [UInt8], vector: Int = 8, room: Int = 100) -> (Int32, Int) {
            var output = [UInt8](repeating: 0, count: 100)
            var length = room
            return (
                CCSymmetricKeyWrap(1, CCrfc3394_iv, vector, key + key + key, kek, raw, raw.count, &output, &length),
                length
            )
        }
        #expect(wrap(16, key) == (0, 24) && wrap(16, key, room: 24) == (0, 24))
        for kek in [0, 15, 17, 33] { #expect(wrap(kek, key) == (status(kCCParamError), 0)) }
        for length in [0, 8, 15, 17] {
            #expect(wrap(16, Array((key + key).prefix(length))) == (status(kCCParamError), 0))
        }
        #expect(wrap(16, key, vector: 7) == (status(kCCParamError), 0))
        #expect(wrap(16, key, room: 23) == (status(kCCParamError), 0))
        #expect(CCSymmetricKeyWrap(1, nil, 0, key, 16, key, 16, nil, nil) == kCCParamError)
        #expect(CCSymmetricUnwrappedSize(1, 7) == 0)
        // In place.
        var shared = key + [UInt8](repeating: 0, count: 8)
        var length = 24
        let status = shared.withUnsafeMutableBufferPointer {
            CCSymmetricKeyWrap(1, nil, 0, key, 16, $0.baseAddress, 16, $0.baseAddress, &length)
        }
        #expect(status == 0 && length == 24 && Array(shared.prefix(16)) != key)
        let opened = shared.withUnsafeMutableBufferPointer {
            CCSymmetricKeyUnwrap(1, nil, 0, key, 16, $0.baseAddress, 24, $0.baseAddress, &length)
        }
        #expect(opened == 0 && length == 16 && Array(shared.prefix(16)) == key)
    }
}

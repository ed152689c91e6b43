// SPDX-License-Identifier: Apache-2.0
import CommonCrypto
import Foundation

/// Digests, codes and a cipher as sources for Apple's systems call them, unchanged.
enum DigestSources {
    static func check() -> [String] {
        var failures: [String] = []
        if sha256(Data("abc".utf8)) != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
            failures.append("the digest is another one")
        }
        if hexadecimal(Data(digest(Array("abc".utf8)))) != sha256(Data("abc".utf8)) {
            failures.append("the digest of an array is another one")
        }
        if md5("abc") != "900150983cd24fb0d6963f7d28e17f72" { failures.append("the digest of 1992 is another one") }
        // RFC 4231, test case 2.
        if hmac("what do ya want for nothing?", key: "Jefe")
            != "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        {
            failures.append("the code is another one")
        }
        let (key, vector) = (Data(repeating: 1, count: kCCKeySizeAES256), Data(repeating: 2, count: kCCBlockSizeAES128))
        let text = Data("a text of no particular length".utf8)
        let sealed = crypt(text, key, vector, CCOperation(kCCEncrypt))
        if sealed == nil || sealed.flatMap({ crypt($0, key, vector, CCOperation(kCCDecrypt)) }) != text {
            failures.append("the text does not come back")
        }
        if derive("password", salt: Data("salt".utf8), rounds: 2).map(hexadecimal)
            != "ea6c014dc72d6f8ccd1ed92ace1d41f0"
        {
            failures.append("the derived key is another one")
        }
        return failures
    }

    /// Checks the answers without libcrypto.
    static func checkWithoutLibrary() -> [String] {
        var failures: [String] = []
        var output = [UInt8](repeating: 0, count: 64)
        var context = CC_SHA512_CTX()
        if CC_SHA256("abc", 3, &output) != nil || CC_SHA512_Init(&context) != 0 { failures.append("there is a digest") }
        if hmac("abc", key: "key") == hmac("abc", key: "key") { failures.append("there is a code, or a constant") }
        var (moved, room, cryptor) = (0, 64, nil as CCCryptorRef?)
        let key = [UInt8](repeating: 1, count: 32)
        let statuses = [
            CCCrypt(0, 0, 1, key, 32, nil, key, 32, &output, 64, &moved),
            CCCryptorCreate(0, 0, 0, key, 32, nil, &cryptor),
            CCCryptorGCMOneshotEncrypt(0, key, 32, key, 12, nil, 0, key, 32, &output, &context, 16),
            CCKeyDerivationPBKDF(2, "password", 8, nil, 0, 3, 1, &output, 32),
            CCSymmetricKeyWrap(1, nil, 0, key, 32, key, 16, &output, &room),
        ]
        if statuses.contains(where: { $0 != kCCUnimplemented }) || cryptor != nil {
            failures.append("there is a cipher or a derived key: \(statuses)")
        }
        if CCRandomGenerateBytes(&output, 64) != kCCSuccess { failures.append("there are no random bytes") }
        return failures
    }

    static func digest(_ bytes: [UInt8]) -> [UInt8] {
        // DigestsAndCiphers
        var digest = [UInt8](repeating: 0, count: Int(CC_SHA256_DIGEST_LENGTH))
        CC_SHA256(bytes, CC_LONG(bytes.count), &digest)
        return digest
    }

    static func hexadecimal(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }

    static func sha256(_ data: Data) -> String {
        var hash = [UInt8](repeating: 0, count: Int(CC_SHA256_DIGEST_LENGTH))
        data.withUnsafeBytes { _ = CC_SHA256($0.baseAddress, CC_LONG(data.count), &hash) }
        return hexadecimal(Data(hash))
    }

    static func md5(_ string: String) -> String {
        let context = UnsafeMutablePointer<CC_MD5_CTX>.allocate(capacity: 1)
        defer { context.deallocate() }
        var digest = Array<UInt8>(repeating: 0, count: Int(CC_MD5_DIGEST_LENGTH))
        CC_MD5_Init(context)
        CC_MD5_Update(context, string, CC_LONG(string.lengthOfBytes(using: String.Encoding.utf8)))
        CC_MD5_Final(&digest, context)
        return digest.reduce("") { $0 + String(format: "%02x", $1) }
    }

    static func hmac(_ message: String, key: String) -> String {
        var mac = [CUnsignedChar](repeating: 0, count: Int(CC_SHA256_DIGEST_LENGTH))
        CCHmac(CCHmacAlgorithm(kCCHmacAlgSHA256), key, strlen(key), message, strlen(message), &mac)
        return hexadecimal(Data(mac))
    }

    static func crypt(_ data: Data, _ key: Data, _ iv: Data, _ operation: CCOperation) -> Data? {
        let size = size_t(data.count + kCCBlockSizeAES128)
        var result = Data(count: size)
        var moved = 0
        let status = result.withUnsafeMutableBytes { output in
            data.withUnsafeBytes { input in
                iv.withUnsafeBytes { iv in
                    key.withUnsafeBytes { key in
                        CCCrypt(
                            operation, CCAlgorithm(kCCAlgorithmAES), CCOptions(kCCOptionPKCS7Padding), key.baseAddress,
                            key.count, iv.baseAddress, input.baseAddress, input.count, output.baseAddress, size, &moved)
                    }
                }
            }
        }
        guard status == kCCSuccess else { return nil }
        return result.prefix(moved)
    }

    static func derive(_ password: String, salt: Data, rounds: Int) -> Data? {
        var key = Data(repeating: 0, count: 16)
        let status: Int32 = key.withUnsafeMutableBytes { keyBytes in
            salt.withUnsafeBytes { saltBytes in
                CCKeyDerivationPBKDF(
                    CCPBKDFAlgorithm(kCCPBKDF2), password, password.utf8.count,
                    saltBytes.bindMemory(to: UInt8.self).baseAddress, salt.count,
                    CCPseudoRandomAlgorithm(kCCPRFHmacAlgSHA1), UInt32(rounds),
                    keyBytes.bindMemory(to: UInt8.self).baseAddress, 16)
            }
        }
        return status == Int32(kCCSuccess) ? key : nil
    }
}

// SPDX-License-Identifier: Apache-2.0
import CommonCrypto
import Foundation
import TestSupport
import Testing
import VaultFormat

/// Both directions with the openssl command.
@Suite struct InteroperationTests {
    private static func openssl(_ arguments: [String], _ input: [UInt8]) throws -> [UInt8] {
        let (process, output, stdin) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        (process.standardOutput, process.standardInput) = (output, stdin)
        process.standardError = FileHandle.nullDevice
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: Data(input))
        try stdin.fileHandleForWriting.close()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "openssl \(arguments)")
        return Array(answer)
    }

    @Test(arguments: [
        ("aes-128-ecb", kCCAlgorithmAES, kCCModeECB, 16), ("aes-256-cbc", kCCAlgorithmAES, kCCModeCBC, 32),
        ("aes-192-ctr", kCCAlgorithmAES, kCCModeCTR, 24), ("aes-256-cfb8", kCCAlgorithmAES, kCCModeCFB8, 32),
        ("aes-128-cfb", kCCAlgorithmAES, kCCModeCFB, 16), ("aes-128-ofb", kCCAlgorithmAES, kCCModeOFB, 16),
        ("des-cbc", kCCAlgorithmDES, kCCModeCBC, 8), ("des-ecb", kCCAlgorithmDES, kCCModeECB, 8),
        ("des-ede3-cbc", kCCAlgorithm3DES, kCCModeCBC, 24), ("des-ede3-ecb", kCCAlgorithm3DES, kCCModeECB, 24),
        ("rc4", kCCAlgorithmRC4, kCCModeRC4, 16), ("cast5-cbc", kCCAlgorithmCAST, kCCModeCBC, 16),
        ("bf-cbc", kCCAlgorithmBlowfish, kCCModeCBC, 16), ("bf-ofb", kCCAlgorithmBlowfish, kCCModeOFB, 16),
    ])
    func `what one encrypts the other decrypts`(name: String, algorithm: Int, mode: Int, keyLength: Int) throws {
        let random = SeededRandom(name)
        let key = (0..<keyLength).map { _ in UInt8(random.uniform(256)) }
        let block = algorithm == kCCAlgorithmAES ? 16 : 8
        let vector = (0..<block).map { _ in UInt8(random.uniform(256)) }
        let text = (0..<1001).map { _ in UInt8(random.uniform(256)) }
        let hasVector = mode != kCCModeECB && algorithm != kCCAlgorithmRC4
        let arguments =
            ["enc", "-" + name, "-K", key.hexadecimal] + (hasVector ? ["-iv", vector.hexadecimal] : [])
            + ["-provider", "legacy", "-provider", "default"]
        func run(_ operation: CCOperation, _ input: [UInt8]) -> (status: CCCryptorStatus, output: [UInt8]) {
            Cryptor(
                operation, mode, CCAlgorithm(algorithm), padding: ccPKCS7Padding, key: key,
                vector: hasVector ? vector : nil
            ).run([input])
        }
        let sealed = run(encrypt, text)
        let expected = try Self.openssl(arguments, text)
        #expect(sealed.status == kCCSuccess && sealed.output == expected)
        let opened = run(decrypt, expected)
        #expect(opened.status == kCCSuccess && opened.output == text)
        #expect(try Self.openssl(arguments + ["-d"], sealed.output) == text)
    }

    @Test(arguments: ["md4", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"])
    func `digests and codes agree`(name: String) throws {
        let text = [UInt8](repeating: 0x61, count: 100_003)
        let legacy = ["-provider", "legacy", "-provider", "default"]
        let digest = try Self.openssl(["dgst", "-" + name, "-binary"] + legacy, text)
        #expect(digests[name.uppercased()]?.one(text) == digest)
        guard name != "md4" else { return }
        let code = try Self.openssl(["dgst", "-" + name, "-binary", "-hmac", "a key"], text)
        #expect(CommonCryptoTests.code(name.uppercased(), key: Array("a key".utf8), text) == code)
    }
}

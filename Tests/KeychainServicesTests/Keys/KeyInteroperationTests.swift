// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import SystemPackage
import TestSupport
import Testing
import VaultFormat

/// Interoperation in both directions with the openssl command and Python's cryptography.
struct KeyInteroperationTests {
    private static let message = Data("a message".utf8)

    private static func make(_ type: String, _ bits: Int) throws -> (key: SecKey, other: SecKey) {
        let key = try #require(SecKeyCreateRandomKey(["type": type, "bsiz": bits] as CFDictionary, nil))
        return (key, try #require(SecKeyCopyPublicKey(key)))
    }

    private static func bytes(_ key: SecKey) throws -> Data {
        try #require(SecKeyCopyExternalRepresentation(key, nil) as Data?)
    }

    @discardableResult
    private static func run(_ program: String, _ arguments: [String], input: Data = Data()) throws -> Data {
        let (process, output, stdin) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/" + program)
        process.arguments = arguments
        (process.standardOutput, process.standardInput) = (output, stdin)
        process.standardError = FileHandle.nullDevice
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: input)
        try stdin.fileHandleForWriting.close()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(program) \(arguments)")
        return answer
    }

    private struct Python {
        private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "others.py")
        private var lines: [String] = []

        mutating func ask(_ verb: String, _ scheme: String, _ hash: String, _ key: Data, _ data: Data...) {
            let words = ([key] + data).map { $0.isEmpty ? "-" : Array($0).hexadecimal }
            lines.append(
                ([verb, scheme, hash] + words + Array(repeating: "-", count: 2 - data.count)).joined(separator: " "))
        }

        func answers() throws -> [Data] {
            let input = Data((lines.joined(separator: "\n") + "\n").utf8)
            let text = String(decoding: try run("python3", [Python.script.path()], input: input), as: UTF8.self)
            return text.split(separator: "\n").map { Data([UInt8](hexadecimal: String($0))) }
        }
    }

    private static let signatures: [(type: String, bits: Int, scheme: String, hash: String, SecKeyAlgorithm)] = [
        ("42", 2048, "PKCS1", "SHA256", .rsaSignatureMessagePKCS1v15SHA256),
        ("42", 2047, "PSS", "SHA512", .rsaSignatureMessagePSSSHA512),
        ("42", 1024, "PSS", "SHA1", .rsaSignatureMessagePSSSHA1),
        ("73", 256, "ECDSA", "SHA256", .ecdsaSignatureMessageX962SHA256),
        ("73", 384, "ECDSA", "SHA512", .ecdsaSignatureMessageX962SHA512),
        ("73", 521, "ECDSA", "SHA1", .ecdsaSignatureMessageX962SHA1),
    ]

    @Test func `signatures verify there and here`() throws {
        var python = Python()
        var keys: [SecKey] = []
        for row in Self.signatures {
            let (key, other) = try Self.make(row.type, row.bits)
            let signature = try #require(SecKeyCreateSignature(key, row.4, Self.message as CFData, nil) as Data?)
            python.ask("verify", row.scheme, row.hash, try Self.bytes(other), Self.message, signature)
            python.ask("verify", row.scheme, row.hash, try Self.bytes(other), Data("other".utf8), signature)
            python.ask("sign", row.scheme, row.hash, try Self.bytes(key), Self.message)
            keys.append(other)
        }
        let answers = try python.answers()
        try #require(answers.count == 3 * keys.count)
        for (index, row) in Self.signatures.enumerated() {
            #expect(answers[3 * index] == Data([0]) && answers[3 * index + 1] == Data([0xff]))
            #expect(
                SecKeyVerifySignature(
                    keys[index], row.4, Self.message as CFData, answers[3 * index + 2] as CFData, nil), "\(row)")
        }
    }

    @Test func `ciphertexts open there and here, and exchanges agree`() throws {
        var python = Python()
        let (key, other) = try Self.make("42", 2048)
        let algorithms: [(String, String, SecKeyAlgorithm)] = [
            ("PKCS1", "SHA256", .rsaEncryptionPKCS1), ("OAEP", "SHA1", .rsaEncryptionOAEPSHA1),
            ("OAEP", "SHA512", .rsaEncryptionOAEPSHA512),
        ]
        for (scheme, hash, algorithm) in algorithms {
            let text = try #require(SecKeyCreateEncryptedData(other, algorithm, Self.message as CFData, nil) as Data?)
            python.ask("decrypt", scheme, hash, try Self.bytes(key), text)
            python.ask("encrypt", scheme, hash, try Self.bytes(other), Self.message)
        }
        var shared: [Data] = []
        for bits in [256, 384, 521] {
            let (own, peer) = (try Self.make("73", bits), try Self.make("73", bits))
            python.ask("exchange", "ECDH", "-", try Self.bytes(own.key), try Self.bytes(peer.other))
            shared.append(
                try #require(
                    SecKeyCopyKeyExchangeResult(
                        peer.key, .ecdhKeyExchangeCofactor, own.other, [:] as CFDictionary, nil) as Data?))
        }
        let answers = try python.answers()
        try #require(answers.count == 9)
        for (index, row) in algorithms.enumerated() {
            #expect(answers[2 * index] == Self.message)
            let text = SecKeyCreateDecryptedData(key, row.2, answers[2 * index + 1] as CFData, nil)
            #expect(text as Data? == Self.message, "\(row)")
        }
        #expect(Array(answers[6...]) == shared)
    }

    @Test func `the openssl command reads the keys, signs and verifies`() throws {
        let directory = try TemporaryDirectory()
        func path(_ name: String) -> String { directory.path.appending(name).string }
        let (key, other) = try Self.make("42", 2048)
        try Self.bytes(key).write(to: URL(filePath: path("key")))
        try Self.bytes(other).write(to: URL(filePath: path("public")))
        try Self.message.write(to: URL(filePath: path("message")))
        try Self.run("openssl", ["rsa", "-inform", "DER", "-in", path("key"), "-check", "-noout"])
        try Self.run(
            "openssl",
            ["rsa", "-RSAPublicKey_in", "-inform", "DER", "-in", path("public"), "-pubout", "-out", path("pem")])
        let signature = try #require(
            SecKeyCreateSignature(key, .rsaSignatureMessagePKCS1v15SHA256, Self.message as CFData, nil) as Data?)
        try signature.write(to: URL(filePath: path("signature")))
        try Self.run(
            "openssl", ["dgst", "-sha256", "-verify", path("pem"), "-signature", path("signature"), path("message")])
        try Self.run("openssl", ["rsa", "-inform", "DER", "-in", path("key"), "-out", path("key.pem")])
        let theirs = try Self.run("openssl", ["dgst", "-sha256", "-sign", path("key.pem"), path("message")])
        #expect(
            SecKeyVerifySignature(
                other, .rsaSignatureMessagePKCS1v15SHA256, Self.message as CFData, theirs as CFData, nil))
        // A key of openssl's, imported here along with its SubjectPublicKeyInfo.
        try Self.run("openssl", ["genrsa", "-traditional", "-out", path("theirs.pem"), "2048"])
        let bytes = try Self.run("openssl", ["rsa", "-in", path("theirs.pem"), "-traditional", "-outform", "DER"])
        let made = try #require(KeyVectors.key(bytes, isRSA: true, isPrivate: true))
        let information = try Self.run("openssl", ["rsa", "-in", path("theirs.pem"), "-pubout", "-outform", "DER"])
        #expect(KeyVectors.key(information, isRSA: true, isPrivate: false) == SecKeyCopyPublicKey(made))
    }

    @Test func `the openssl command makes a key of a curve, which signs here`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path.appending("key.pem").string
        for (name, length) in [("prime256v1", 32), ("secp384r1", 48), ("secp521r1", 66)] {
            try Self.run("openssl", ["ecparam", "-name", name, "-genkey", "-noout", "-out", path])
            let bytes = Array(try Self.run("openssl", ["ec", "-in", path, "-outform", "DER"]))
            // ECPrivateKey (RFC 5915): the number is an OCTET STRING; the public point comes last.
            var reader = DERReader(bytes.span)
            let content = reader.take(DERTag.sequence, of: bytes.span)
            reader = DERReader(try #require(content))
            _ = reader.takeNumber(of: bytes.span)
            let found = reader.take(DERTag.octetString, of: bytes.span)
            let number = try #require(found)
            let key = try #require(
                KeyVectors.key(Data(bytes.suffix(1 + 2 * length) + bytes[number]), isRSA: false, isPrivate: true))
            let message = directory.path.appending("message").string
            try Self.message.write(to: URL(filePath: message))
            let theirs = try Self.run("openssl", ["dgst", "-sha384", "-sign", path, message])
            let other = try #require(SecKeyCopyPublicKey(key))
            #expect(
                SecKeyVerifySignature(
                    other, .ecdsaSignatureMessageX962SHA384, Self.message as CFData, theirs as CFData, nil))
            let ours = try #require(
                SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA384, Self.message as CFData, nil) as Data?)
            let signature = directory.path.appending("signature").string
            try ours.write(to: URL(filePath: signature))
            try Self.run("openssl", ["ec", "-in", path, "-pubout", "-out", path + ".pub"])
            try Self.run(
                "openssl", ["dgst", "-sha384", "-verify", path + ".pub", "-signature", signature, message])
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import CommonCrypto
import TestSupport
import Testing

/// Known answers of NIST and Wycheproof, in both directions.
@Suite struct VectorTests {
    private static let modes = [
        "ECB": kCCModeECB, "CBC": kCCModeCBC, "CFB": kCCModeCFB, "CFB8": kCCModeCFB8, "OFB": kCCModeOFB,
        "CTR": kCCModeCTR,
    ]

    @Test(arguments: [("nist/aes.txt", kCCAlgorithmAES), ("nist/tdes.txt", kCCAlgorithm3DES)])
    func `a cipher encrypts and decrypts, whole and in pieces`(file: String, algorithm: Int) throws {
        let random = SeededRandom(file)
        for row in try Rows.of(file) {
            let mode = try #require(Self.modes[row[0]])
            let (key, vector) = (bytes(row[1]), row[2] == "-" ? nil : bytes(row[2]))
            for (operation, input, output) in [
                (encrypt, bytes(row[3]), bytes(row[4])), (decrypt, bytes(row[4]), bytes(row[3])),
            ] {
                let cut = Int(random.uniform(UInt32(input.count + 1)))
                for pieces in [[input], [Array(input[..<cut]), Array(input[cut...])]] {
                    let cryptor = Cryptor(operation, mode, CCAlgorithm(algorithm), key: key, vector: vector)
                    #expect(cryptor.run(pieces) == (status(kCCSuccess), output), "\(row)")
                }
            }
        }
    }

    @Test func `CBC with padding opens if it is valid; a wrong padding stays in the output`() throws {
        for row in try Rows.of("wycheproof/aes_cbc_pkcs5.txt") {
            let (key, vector, text, sealed) = (bytes(row[2]), bytes(row[3]), bytes(row[4]), bytes(row[5]))
            let opened = crypt(decrypt, key: key, vector: vector, sealed)
            if row[1] == "valid" {
                #expect(opened.status == kCCSuccess && opened.output == text, "\(row)")
                #expect(crypt(encrypt, key: key, vector: vector, text).output == sealed, "\(row)")
            } else if sealed.count % 16 == 0 {
                #expect(opened.status == kCCSuccess && opened.output.count == sealed.count, "\(row)")
            } else {
                #expect(opened.status == kCCAlignmentError, "\(row)")
            }
        }
    }

    private struct Message {
        let key, vector, additional, text, sealed, tag: [UInt8]

        func seal() -> (status: CCCryptorStatus, sealed: [UInt8], tag: [UInt8]) {
            var output = [UInt8](repeating: 0, count: text.count + 1)
            var made = [UInt8](repeating: 0, count: tag.count)
            let status = CCCryptorGCMOneshotEncrypt(
                aes, key, key.count, vector, vector.count, additional, additional.count, text, text.count, &output,
                &made, made.count)
            return (status, Array(output.dropLast()), made)
        }

        func open() -> (status: CCCryptorStatus, text: [UInt8]) {
            var output = [UInt8](repeating: 0xEE, count: sealed.count + 1)
            let status = CCCryptorGCMOneshotDecrypt(
                aes, key, key.count, vector, vector.count, additional, additional.count, sealed, sealed.count, &output,
                tag, tag.count)
            return (status, Array(output.dropLast()))
        }

        /// The tag is checked by `finalize`, or else computed by the older call.
        func openInParts(finalize: Bool) -> (status: CCCryptorStatus, text: [UInt8], tag: [UInt8]) {
            let cryptor = Cryptor(decrypt, kCCModeGCM, key: key)
            var output = [UInt8](repeating: 0, count: sealed.count + 1)
            var (made, length) = (tag, tag.count)
            var status = CCCryptorGCMAddIV(cryptor.reference, vector, vector.count)
            if status == kCCSuccess {
                status = CCCryptorGCMAddAAD(cryptor.reference, additional, additional.count)
            }
            if status == kCCSuccess {
                status = CCCryptorGCMDecrypt(cryptor.reference, sealed, sealed.count, &output)
            }
            if status == kCCSuccess {
                status =
                    finalize
                    ? CCCryptorGCMFinalize(cryptor.reference, &made, made.count)
                    : CCCryptorGCMFinal(cryptor.reference, &made, &length)
            }
            return (status, Array(output.dropLast()), made)
        }
    }

    @Test(arguments: ["wycheproof/aes_gcm.txt", "nist/gcm.txt"])
    func `GCM opens what is valid, and wipes the rest`(file: String) throws {
        for row in try Rows.of(file) {
            let words = file.hasPrefix("nist") ? row : Array(row[2...]) + [row[1]]
            let message = Message(
                key: bytes(words[0]), vector: bytes(words[1]), additional: bytes(words[2]), text: bytes(words[3]),
                sealed: bytes(words[4]), tag: bytes(words[5]))
            let isValid = words[6] == "valid"
            // Apple's new calls refuse shorter vectors, the old ones do not. libcrypto refuses longer ones.
            if (12...128).contains(message.vector.count) {
                let opened = message.open()
                #expect(opened.status == (isValid ? status(kCCSuccess) : status(kCCUnspecifiedError)), "\(row)")
                #expect(opened.text == (isValid ? message.text : [UInt8](repeating: 0, count: message.sealed.count)))
                if isValid { #expect(message.seal() == (status(kCCSuccess), message.sealed, message.tag), "\(row)") }
            } else {
                #expect(message.open().status == kCCParamError && message.seal().status == kCCParamError)
            }
            guard (1...128).contains(message.vector.count) else {
                #expect(message.openInParts(finalize: true).status == kCCParamError)
                continue
            }
            let parts = message.openInParts(finalize: true)
            #expect(parts.status == (isValid ? status(kCCSuccess) : status(kCCUnspecifiedError)), "\(row)")
            let older = message.openInParts(finalize: false)
            #expect(older.status == kCCSuccess && (older.tag == message.tag) == isValid, "\(row)")
            if isValid { #expect(parts.text == message.text && older.text == message.text, "\(row)") }
        }
    }

    @Test(arguments: ["wycheproof/aes_wrap.txt", "nist/kw.txt"])
    func `a key is wrapped and unwrapped, a changed one is not`(file: String) throws {
        for row in try Rows.of(file) {
            let words = file.hasPrefix("nist") ? row : Array(row[2...]) + [row[1]]
            let (key, raw, wrapped) = (bytes(words[0]), bytes(words[1]), bytes(words[2]))
            var output = [UInt8](repeating: 0, count: wrapped.count + 8)
            var length = output.count
            let unwrapped = CCSymmetricKeyUnwrap(
                CCWrappingAlgorithm(kCCWRAPAES), CCrfc3394_iv, CCrfc3394_ivLen, key, key.count, wrapped, wrapped.count,
                &output, &length)
            if words[3] == "invalid" {
                #expect([kCCDecodeError, kCCParamError].contains(Int(unwrapped)) && length == 0, "\(row)")
                continue
            }
            // Rows marked "acceptable" wrap a key of 8 bytes, which RFC 3394 excludes.
            guard words[3] == "valid" else {
                #expect(unwrapped == kCCDecodeError, "\(row)")
                continue
            }
            #expect(unwrapped == kCCSuccess && Array(output.prefix(length)) == raw, "\(row)")
            length = output.count
            let status = CCSymmetricKeyWrap(
                CCWrappingAlgorithm(kCCWRAPAES), nil, 0, key, key.count, raw, raw.count, &output, &length)
            #expect(status == kCCSuccess && Array(output.prefix(length)) == wrapped, "\(row)")
            #expect(CCSymmetricWrappedSize(CCWrappingAlgorithm(kCCWRAPAES), raw.count) == wrapped.count)
            #expect(CCSymmetricUnwrappedSize(CCWrappingAlgorithm(kCCWRAPAES), wrapped.count) == raw.count)
        }
    }

    @Test func `a digest is the same whole and in parts`() throws {
        for row in try Rows.of("nist/sha.txt") {
            let digest = try #require(digests[row[0]])
            let message = bytes(row[1])
            let parts = [Array(message.prefix(message.count / 3)), Array(message.dropFirst(message.count / 3))]
            #expect(digest.one(message) == bytes(row[2]) && digest.parts(parts) == bytes(row[2]), "\(row)")
        }
        // RFC 1320 and RFC 1321.
        let letters = Array("abcdefghijklmnopqrstuvwxyz".utf8)
        #expect(digests["MD4"]?.one(letters) == bytes("d79e1c308aa5bbcdeea8ed63df412da9"))
        #expect(digests["MD5"]?.one(letters) == bytes("c3fcd3d76192e4007dfb496cca67e13b"))
    }

    @Test(arguments: ["nist/hmac.txt"] + ["sha1", "sha224", "sha256", "sha384", "sha512"].map { "hmac_\($0)" })
    func `a code is the beginning of what it should be`(name: String) throws {
        let isOfNIST = name.hasPrefix("nist")
        for row in try Rows.of(isOfNIST ? name : "wycheproof/\(name).txt") {
            let digest = isOfNIST ? row[0] : name.dropFirst(5).uppercased()
            let (key, message, expected) =
                isOfNIST ? (bytes(row[1]), bytes(row[2]), bytes(row[3])) : (bytes(row[2]), bytes(row[3]), bytes(row[4]))
            let made = code(digest, key: key, message)
            #expect(made.starts(with: expected) == (isOfNIST || row[1] == "valid"), "\(row)")
        }
    }

    @Test(arguments: [
        ("sha1", kCCPRFHmacAlgSHA1), ("sha224", kCCPRFHmacAlgSHA224), ("sha256", kCCPRFHmacAlgSHA256),
        ("sha384", kCCPRFHmacAlgSHA384), ("sha512", kCCPRFHmacAlgSHA512),
    ])
    func `a key is derived`(name: String, function: Int) throws {
        for row in try Rows.of("wycheproof/pbkdf2_hmac\(name).txt") {
            let (password, salt, expected) = (bytes(row[2]).map(CChar.init(bitPattern:)), bytes(row[3]), bytes(row[5]))
            var output = [UInt8](repeating: 0, count: expected.count)
            let status = CCKeyDerivationPBKDF(
                CCPBKDFAlgorithm(kCCPBKDF2), password, password.count, salt, salt.count,
                CCPseudoRandomAlgorithm(function), try #require(UInt32(row[4])), &output, output.count)
            #expect(status == kCCSuccess && (output == expected) == (row[1] == "valid"), "\(row)")
        }
    }
}

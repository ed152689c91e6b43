// SPDX-License-Identifier: Apache-2.0
import CommonCrypto
import Foundation
import TestSupport

/// Rows of words, of which "-" is empty and the rest hexadecimal, unless a test reads them otherwise.
struct Rows {
    static func of(_ name: String) throws -> [[String]] {
        String(decoding: try Vectors.bytes("commoncrypto/" + name), as: UTF8.self).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ").map(String.init) }
    }
}

func bytes(_ word: String) -> [UInt8] { word == "-" ? [] : [UInt8](hexadecimal: word) }

/// A status by its name in failures, as in sources.
func status(_ value: Int) -> CCCryptorStatus { CCCryptorStatus(value) }

let encrypt = CCOperation(kCCEncrypt)
let decrypt = CCOperation(kCCDecrypt)
let aes = CCAlgorithm(kCCAlgorithmAES)

/// The calls of a cryptor, with arrays.
final class Cryptor {
    private(set) var reference: CCCryptorRef?
    let created: CCCryptorStatus

    init(
        _ operation: CCOperation, _ mode: Int, _ algorithm: CCAlgorithm = aes, padding: Int = ccNoPadding,
        key: [UInt8], vector: [UInt8]? = nil
    ) {
        created = CCCryptorCreateWithMode(
            operation, CCMode(mode), algorithm, CCPadding(padding), vector, key, key.count, nil, 0, 0, 0, &reference)
    }

    deinit { CCCryptorRelease(reference) }

    func update(_ input: [UInt8], room: Int? = nil) -> (status: CCCryptorStatus, output: [UInt8], moved: Int) {
        var output = [UInt8](repeating: 0xEE, count: room ?? input.count + 32)
        var moved = -1
        let status = CCCryptorUpdate(reference, input, input.count, &output, output.count, &moved)
        return (status, status == kCCSuccess ? Array(output.prefix(moved)) : [], moved)
    }

    func final(room: Int = 32) -> (status: CCCryptorStatus, output: [UInt8]) {
        var output = [UInt8](repeating: 0xEE, count: room)
        var moved = -1
        let status = CCCryptorFinal(reference, &output, output.count, &moved)
        return (status, status == kCCSuccess ? Array(output.prefix(moved)) : [])
    }

    /// Runs the pieces one after the other.
    func run(_ pieces: [[UInt8]]) -> (status: CCCryptorStatus, output: [UInt8]) {
        guard created == kCCSuccess else { return (created, []) }
        var output: [UInt8] = []
        for piece in pieces {
            let part = update(piece)
            guard part.status == kCCSuccess else { return (part.status, output) }
            output += part.output
        }
        let end = final()
        return (end.status, output + end.output)
    }
}

/// `CCCrypt` with arrays; the room is what the output needs at most.
func crypt(
    _ operation: CCOperation, _ algorithm: CCAlgorithm = aes, options: Int = kCCOptionPKCS7Padding, key: [UInt8],
    vector: [UInt8]? = nil, _ input: [UInt8], room: Int? = nil
) -> (status: CCCryptorStatus, output: [UInt8], moved: Int) {
    var output = [UInt8](repeating: 0xEE, count: room ?? input.count + 16)
    var moved = -1
    let status = CCCrypt(
        operation, algorithm, CCOptions(options), key, key.count, vector, input, input.count, &output, output.count,
        &moved)
    return (status, status == kCCSuccess ? Array(output.prefix(moved)) : [], moved)
}

/// The digests by the names of the vectors.
let digests: [String: Digest] = [
    "MD4": digest(16, CC_MD4, CC_MD4_CTX(), CC_MD4_Init, CC_MD4_Update, CC_MD4_Final),
    "MD5": digest(16, CC_MD5, CC_MD5_CTX(), CC_MD5_Init, CC_MD5_Update, CC_MD5_Final),
    "SHA1": digest(20, CC_SHA1, CC_SHA1_CTX(), CC_SHA1_Init, CC_SHA1_Update, CC_SHA1_Final),
    "SHA224": digest(28, CC_SHA224, CC_SHA256_CTX(), CC_SHA224_Init, CC_SHA224_Update, CC_SHA224_Final),
    "SHA256": digest(32, CC_SHA256, CC_SHA256_CTX(), CC_SHA256_Init, CC_SHA256_Update, CC_SHA256_Final),
    "SHA384": digest(48, CC_SHA384, CC_SHA512_CTX(), CC_SHA384_Init, CC_SHA384_Update, CC_SHA384_Final),
    "SHA512": digest(64, CC_SHA512, CC_SHA512_CTX(), CC_SHA512_Init, CC_SHA512_Update, CC_SHA512_Final),
]

struct Digest: Sendable {
    /// The call of one message.
    let one: @Sendable ([UInt8]) -> [UInt8]?
    /// Init, an update for each part, and Final.
    let parts: @Sendable ([[UInt8]]) -> [UInt8]?
}

private typealias Bytes = UnsafeMutablePointer<UInt8>

private func digest<Context: Sendable>(
    _ length: Int, _ one: @escaping @Sendable (UnsafeRawPointer?, CC_LONG, Bytes?) -> Bytes?, _ context: Context,
    _ initialize: @escaping @Sendable (UnsafeMutablePointer<Context>?) -> Int32,
    _ update: @escaping @Sendable (UnsafeMutablePointer<Context>?, UnsafeRawPointer?, CC_LONG) -> Int32,
    _ final: @escaping @Sendable (Bytes?, UnsafeMutablePointer<Context>?) -> Int32
) -> Digest {
    Digest(
        one: { message in
            var output = [UInt8](repeating: 0, count: length)
            return one(message, CC_LONG(message.count), &output) == nil ? nil : output
        },
        parts: { parts in
            var context = context
            var output = [UInt8](repeating: 0, count: length)
            guard initialize(&context) == 1 else { return nil }
            for part in parts where update(&context, part, CC_LONG(part.count)) != 1 { return nil }
            return final(&output, &context) == 1 ? output : nil
        })
}

let codes: [String: (algorithm: CCHmacAlgorithm, length: Int)] = [
    "SHA1": (CCHmacAlgorithm(kCCHmacAlgSHA1), 20), "MD5": (CCHmacAlgorithm(kCCHmacAlgMD5), 16),
    "SHA224": (CCHmacAlgorithm(kCCHmacAlgSHA224), 28), "SHA256": (CCHmacAlgorithm(kCCHmacAlgSHA256), 32),
    "SHA384": (CCHmacAlgorithm(kCCHmacAlgSHA384), 48), "SHA512": (CCHmacAlgorithm(kCCHmacAlgSHA512), 64),
]

func code(_ name: String, key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    guard let (algorithm, length) = codes[name] else { return [] }
    var output = [UInt8](repeating: 0, count: length)
    CCHmac(algorithm, key, key.count, message, message.count, &output)
    return output
}

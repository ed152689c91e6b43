// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport

/// A file of known answers: algorithms, keys, and rows that use the algorithm and key above them.
struct KeyVectors {
    struct Row {
        let algorithm: SecKeyAlgorithm
        let key: Data
        let number: String
        let result: String
        let flags: String
        let input: Data
        let output: Data
    }

    static func rows(of name: String) throws -> [Row] {
        var rows: [Row] = []
        var (algorithm, key) = ("", Data())
        for line in String(decoding: try Vectors.bytes("keys/" + name), as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            switch words[0] {
            case "#": break
            case "algorithm": algorithm = words[1]
            case "hash": algorithm = "SHA" + words[1]
            case "key": key = data(words[1])
            default:
                rows.append(
                    Row(
                        algorithm: SecKeyAlgorithm(rawValue: algorithm as CFString), key: key, number: words[0],
                        result: words[1], flags: words[2], input: data(words[3]), output: data(words[4])))
            }
        }
        return rows
    }

    static func data(_ word: String) -> Data { word == "-" ? Data() : Data([UInt8](hexadecimal: word)) }

    static func key(_ bytes: Data, isRSA: Bool, isPrivate: Bool) -> SecKey? {
        SecKeyCreateWithData(
            bytes as CFData, ["type": isRSA ? "42" : "73", "kcls": isPrivate ? "1" : "0"] as CFDictionary, nil)
    }
}

/// A file of known answers for the constructions.
struct ConstructionVectors: Decodable {
    struct Ciphertext: Decodable {
        let algorithm: String
        let also: String?
        let `private`: String
        let plaintext: String
        let ciphertext: String
    }

    struct Rejection: Decodable {
        let algorithm: String
        let `private`: String
        let ciphertext: String
        let result: String
    }

    struct Exchange: Decodable {
        let algorithm: String
        let `private`: String
        let `public`: String
        let result: String
        let requestedSize: Int?
        let sharedInfo: String?
    }

    struct Label: Decodable {
        let key: String
        let klbl: String
    }

    let ecies: [Ciphertext]
    let hybrid: [Ciphertext]
    let exchange: [Exchange]
    let rejection: [Rejection]
    let labels: [Label]

    enum CodingKeys: String, CodingKey {
        case ecies
        case hybrid = "rsa-aesgcm"
        case exchange = "ecdh"
        case rejection = "rsa-pkcs1-rejection"
        case labels = "klbl"
    }
}

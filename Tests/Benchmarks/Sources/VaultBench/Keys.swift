// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

/// Prints a line of JSON: the mean duration of each kind of key operation, in nanoseconds.
func measureKeys(count: Int) throws {
    let message = Data(repeating: 7, count: 32) as CFData
    var measures: [String: Int] = [:]
    for (name, type, bits, algorithm) in [
        ("RSA-2048", "42", 2048, SecKeyAlgorithm.rsaSignatureDigestPKCS1v15SHA256),
        ("P-256", "73", 256, .ecdsaSignatureDigestX962SHA256),
    ] {
        let parameters = ["type": type, "bsiz": bits] as [String: Any] as CFDictionary
        guard let key = SecKeyCreateRandomKey(parameters, nil) else { throw CocoaError(.featureUnsupported) }
        measures["\(name) signature"] = nanoseconds(count) {
            _ = SecKeyCreateSignature(key, algorithm, message, nil)
        }
        if type == "73" {
            measures["\(name) key"] = nanoseconds(count) { _ = SecKeyCreateRandomKey(parameters, nil) }
        }
    }
    print(String(decoding: try JSONEncoder().encode(measures), as: UTF8.self))
}

func nanoseconds(_ count: Int, _ body: () -> Void) -> Int {
    let start = ContinuousClock.now
    for _ in 0..<count { body() }
    return Int((ContinuousClock.now - start) / .nanoseconds(1)) / count
}

// SPDX-License-Identifier: Apache-2.0
import CPeers
import CommonCrypto
import Foundation

/// Prints a line of JSON: the mean duration of each call of CommonCrypto, and of libcrypto's own HMAC, in nanoseconds.
func measureDigests(count: Int) throws {
    let large = [UInt8](repeating: 7, count: 1 << 20)
    var output = [UInt8](repeating: 0, count: large.count + 32)
    var moved = 0
    let key = [UInt8](repeating: 1, count: 32)
    var measures = [
        "SHA-256 of 1 MiB": nanoseconds(count) { _ = CC_SHA256(large, CC_LONG(large.count), &output) },
        "AES-256-CBC of 1 MiB": nanoseconds(count) {
            _ = CCCrypt(
                CCOperation(kCCEncrypt), CCAlgorithm(kCCAlgorithmAES), CCOptions(kCCOptionPKCS7Padding), key, key.count,
                key, large, large.count, &output, output.count, &moved)
        },
        "HMAC of 64 bytes": nanoseconds(1000 * count) {
            CCHmac(CCHmacAlgorithm(kCCHmacAlgSHA256), key, key.count, large, 64, &output)
        },
    ]
    if let hmac = peer_hmac_sha256() {
        measures["libcrypto's HMAC of 64 bytes"] = nanoseconds(1000 * count) {
            hmac(key, key.count, large, 64, &output)
        }
    }
    print(String(decoding: try JSONEncoder().encode(measures), as: UTF8.self))
}

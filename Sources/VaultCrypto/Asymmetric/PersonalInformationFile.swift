// SPDX-License-Identifier: Apache-2.0
import CCrypto
import Glibc

/// The keys and certificates of a PKCS#12 file (RFC 7292), read by libcrypto.
package struct PersonalInformationFile: Sendable {
    package struct Certificate: Sendable {
        /// X.509 in DER.
        package let bytes: [UInt8]
        /// The identifier shared with its key, if present.
        package let keyID: [UInt8]?
        package let name: String?
    }

    package struct Key: Sendable {
        /// For an RSA key PKCS#1 in DER (RFC 8017, A.1.2); for a key of P-256, P-384 or P-521 the bytes 04, x, y and
        /// the private number.
        package let bytes: Secret
        package let isRSA: Bool
        package let keyID: [UInt8]?
        package let name: String?
    }

    /// In the order of the file, like the keys.
    package let certificates: [Certificate]
    package let keys: [Key]

    /// - Parameters:
    ///   - bytes: at most 16 MiB.
    ///   - password: UTF-8; an empty one stands for both the empty password and no password.
    package init(_ bytes: Span<UInt8>, password: borrowing SecretBytes) throws(PersonalInformationFileError) {
        let collector = BagCollector()
        // The lengths match the buffers; the visitor is called only during this call.
        let result = unsafe password.withPointer { secret in
            unsafe bytes.withPointer { bytes, count in
                unsafe ccrypto_pkcs12_read(
                    ccrypto_number(bytes: bytes, count: count), ccrypto_number(bytes: secret, count: password.count),
                    collector.visitor)
            }
        }
        Sodium.wipeStack(.derivation)
        switch -result {
        case 0: break
        case Int(EACCES): throw .wrongPassword
        case Int(EBADMSG): throw .damaged
        case Int(ENOTSUP): throw .unknownAlgorithm
        case Int(EFBIG): throw .tooMuch
        case Int(ENOMEM): throw .outOfMemory
        default: throw .unavailable
        }
        (certificates, keys) = (collector.certificates, collector.keys)
    }
}

/// The reason why a PKCS#12 file could not be read.
package enum PersonalInformationFileError: Error {
    /// The password is wrong or missing, or bytes that it protects were changed.
    case wrongPassword
    /// The bytes are not such a file, or it was truncated or changed.
    case damaged
    /// The file uses a cipher or a derivation that libcrypto does not know, or contains a key of another kind.
    case unknownAlgorithm
    /// The file exceeds 16 MiB, 10,000 parts, or 10,000,000 rounds of a derivation.
    case tooMuch
    case outOfMemory
    /// libcrypto 3 is missing.
    case unavailable
}

/// Collects the arguments of the C visitor's calls.
private final class BagCollector {
    var certificates: [PersonalInformationFile.Certificate] = []
    var keys: [PersonalInformationFile.Key] = []

    /// Called only while the collector is alive: during the call to which the visitor is passed.
    var visitor: ccrypto_bag_visitor {
        unsafe ccrypto_bag_visitor(
            state: Unmanaged.passUnretained(self).toOpaque(),
            bag: { state, bag in
                guard let state = unsafe state, let bag = unsafe bag else { return -Int(EINVAL) }
                return unsafe Unmanaged<BagCollector>.fromOpaque(state).takeUnretainedValue().take(bag.pointee)
            })
    }

    private func take(_ bag: ccrypto_bag) -> Int {
        // The bytes are valid during the call. Those of a key are copied to locked memory directly from the buffer into
        // which libcrypto decrypted them, and which it wipes.
        let bytes = unsafe UnsafeBufferPointer(
            start: bag.bytes.bytes?.assumingMemoryBound(to: UInt8.self), count: bag.bytes.count)
        let keyID = unsafe BagCollector.bytes(bag.key_id)
        let name = unsafe BagCollector.bytes(bag.name).map { String(decoding: $0, as: UTF8.self) }
        guard unsafe bag.kind != Int32(ccrypto_bag_certificate) else {
            unsafe certificates.append(.init(bytes: Array(bytes), keyID: keyID, name: name))
            return 0
        }
        do throws(CryptoError) {
            let secret = Secret(try SecretBytes(copying: unsafe Span(_unsafeElements: bytes)))
            let isRSA = unsafe bag.kind == Int32(ccrypto_bag_rsa_key)
            keys.append(.init(bytes: secret, isRSA: isRSA, keyID: keyID, name: name))
            return 0
        } catch { return -Int(ENOMEM) }
    }

    private static func bytes(_ from: ccrypto_number) -> [UInt8]? {
        // The bytes are valid during the call.
        unsafe from.bytes.map { unsafe Array(UnsafeRawBufferPointer(start: $0, count: from.count)) }
    }
}

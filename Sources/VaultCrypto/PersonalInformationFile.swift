// SPDX-License-Identifier: Apache-2.0
import CCrypto
import Glibc

/// The keys and certificates of a PKCS#12 file (RFC 7292), read by libcrypto.
package struct PersonalInformationFile: Sendable {
    package struct Certificate: Sendable {
        /// X.509 in DER.
        package let bytes: [UInt8]
        /// What it has in common with its key, if that is said.
        package let keyID: [UInt8]?
        package let name: String?
    }

    package struct Key: Sendable {
        /// Of an RSA key PKCS#1 in DER (RFC 8017, A.1.2), of one of P-256, P-384 or P-521 the bytes 04, x, y and the
        /// private number.
        package let bytes: Secret
        package let isRSA: Bool
        package let keyID: [UInt8]?
        package let name: String?
    }

    /// In the order of the file, as are the keys.
    package let certificates: [Certificate]
    package let keys: [Key]

    /// - Parameters:
    ///   - bytes: at most 16 MiB.
    ///   - password: UTF-8; no bytes are the empty password, and none as well.
    package init(_ bytes: Span<UInt8>, password: borrowing SecretBytes) throws(PersonalInformationFileError) {
        let collector = BagCollector()
        // The lengths are those of the runs of bytes; the visitor is called in this call and nowhere else.
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

/// Why a PKCS#12 file could not be read.
package enum PersonalInformationFileError: Error {
    /// The password is another one, or missing; or bytes were changed that it protects.
    case wrongPassword
    /// The bytes are no such file, or one that was cut off or changed.
    case damaged
    /// It was written with a cipher or a derivation that libcrypto does not know, or has a key of another kind.
    case unknownAlgorithm
    /// It has more than 16 MiB or 10,000 parts, or wants more than 10,000,000 rounds of a derivation.
    case tooMuch
    case outOfMemory
    /// There is no libcrypto 3.
    case unavailable
}

/// Takes what the visitor of C is called with.
private final class BagCollector {
    var certificates: [PersonalInformationFile.Certificate] = []
    var keys: [PersonalInformationFile.Key] = []

    /// It is called while the collector is alive: in the call that it is handed to.
    var visitor: ccrypto_bag_visitor {
        unsafe ccrypto_bag_visitor(
            state: Unmanaged.passUnretained(self).toOpaque(),
            bag: { state, bag in
                guard let state = unsafe state, let bag = unsafe bag else { return -Int(EINVAL) }
                return unsafe Unmanaged<BagCollector>.fromOpaque(state).takeUnretainedValue().take(bag.pointee)
            })
    }

    private func take(_ bag: ccrypto_bag) -> Int {
        // The bytes are there during the call. Those of a key go from where libcrypto decrypted them, and wipes them,
        // into locked memory.
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
        } catch {
            return -Int(ENOMEM)
        }
    }

    private static func bytes(_ from: ccrypto_number) -> [UInt8]? {
        // They are there during the call.
        unsafe from.bytes.map { unsafe Array(UnsafeRawBufferPointer(start: $0, count: from.count)) }
    }
}

// SPDX-License-Identifier: Apache-2.0
@_implementationOnly import VaultCrypto

// The calls that Apple has replaced by those with algorithms, in iOS's form: the input of a signature is a digest.

/// The padding of a block.
public struct SecPadding: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let PKCS1 = SecPadding(rawValue: 1)
    public static let OAEP = SecPadding(rawValue: 2)
    public static let sigRaw = SecPadding(rawValue: 0x4000)
    public static let PKCS1MD2 = SecPadding(rawValue: 0x8000)
    public static let PKCS1MD5 = SecPadding(rawValue: 0x8001)
    public static let PKCS1SHA1 = SecPadding(rawValue: 0x8002)
    public static let PKCS1SHA224 = SecPadding(rawValue: 0x8003)
    public static let PKCS1SHA256 = SecPadding(rawValue: 0x8004)
    public static let PKCS1SHA384 = SecPadding(rawValue: 0x8005)
    public static let PKCS1SHA512 = SecPadding(rawValue: 0x8006)

    private static let hashes: [SecPadding: DigestAlgorithm] = [
        .PKCS1SHA1: .sha1, .PKCS1SHA224: .sha224, .PKCS1SHA256: .sha256, .PKCS1SHA384: .sha384, .PKCS1SHA512: .sha512,
    ]

    /// - Parameter digestLength: the length of the digest in bytes. Returns `nil` if there is no such signature.
    fileprivate func signature(isRSA: Bool, digestLength: Int) -> KeyAlgorithm? {
        guard isRSA else {
            if self == .sigRaw { return .ecdsa(isPair: true, .digest(nil)) }
            let hash = self == .PKCS1 ? DigestAlgorithm.allCases.first { $0.length == digestLength } : nil
            return .ecdsa(isPair: false, .digest(hash))
        }
        if isEmpty { return .rsaSignature(.raw, .digest(nil)) }
        if self == .PKCS1 { return .rsaSignature(.pkcs1, .digest(nil)) }
        return SecPadding.hashes[self].map { .rsaSignature(.pkcs1, .digest($0)) }
    }

    /// Returns the encryption algorithm; `nil` if there is none.
    fileprivate func encryption(isRSA: Bool) -> KeyAlgorithm? {
        guard isRSA else { return nil }
        if isEmpty { return .rsaEncryption(.raw) }
        return self == .PKCS1 ? .rsaEncryption(.pkcs1) : self == .OAEP ? .rsaEncryption(.oaep(.sha1)) : nil
    }
}

extension SecPadding: Hashable {}

/// Signs a digest.
///
/// - Parameters:
///   - sig: a buffer of `sigLen` bytes; `sigLen` is set to the signature's length.
/// - Returns: errSecSuccess; errSecParam, also if the buffer is too small.
@discardableResult
public func SecKeyRawSign(
    _ key: SecKey, _ padding: SecPadding, _ dataToSign: UnsafePointer<UInt8>, _ dataToSignLen: Int,
    _ sig: UnsafeMutablePointer<UInt8>, _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe transforming(dataToSign, dataToSignLen, sig, sigLen) { digest throws(StatusError) in
        guard let algorithm = padding.signature(isRSA: key.isRSA, digestLength: digest.count) else { throw .parameter }
        let signature = try key.sign(digest, algorithm)
        return try converting { () throws(CryptoError) in try SecretBytes(copying: signature.span) }
    }
}

/// Verifies the signature of a digest.
///
/// - Returns: errSecSuccess; errSSLCrypto if the signature is invalid; errSecParam.
@discardableResult
public func SecKeyRawVerify(
    _ key: SecKey, _ padding: SecPadding, _ signedData: UnsafePointer<UInt8>, _ signedDataLen: Int,
    _ sig: UnsafePointer<UInt8>, _ sigLen: Int
) -> OSStatus {
    guard signedDataLen >= 0, sigLen >= 0 else { return errSecParam }
    // The caller guarantees that the bytes are valid.
    let digest = unsafe Span(_unsafeStart: signedData, count: signedDataLen)
    let signature = unsafe Span(_unsafeStart: sig, count: sigLen)
    do throws(StatusError) {
        guard let algorithm = padding.signature(isRSA: key.isRSA, digestLength: signedDataLen) else { throw .parameter }
        try key.verify(signature, of: digest, algorithm)
        return errSecSuccess
    } catch { return error.status == errSecVerifyFailed ? errSSLCrypto : error.status }
}

/// Encrypts a block with an RSA key.
///
/// - Parameter cipherText: a buffer of `cipherTextLen` bytes; `cipherTextLen` is set to the ciphertext's length.
@discardableResult
public func SecKeyEncrypt(
    _ key: SecKey, _ padding: SecPadding, _ plainText: UnsafePointer<UInt8>, _ plainTextLen: Int,
    _ cipherText: UnsafeMutablePointer<UInt8>, _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe transforming(plainText, plainTextLen, cipherText, cipherTextLen) { text throws(StatusError) in
        guard let algorithm = padding.encryption(isRSA: key.isRSA) else { throw .parameter }
        let ciphertext = try key.encrypt(text, algorithm)
        return try converting { () throws(CryptoError) in try SecretBytes(copying: ciphertext.span) }
    }
}

/// Decrypts a block with an RSA key; without padding, leading zero bytes of the text are left out.
@discardableResult
public func SecKeyDecrypt(
    _ key: SecKey, _ padding: SecPadding, _ cipherText: UnsafePointer<UInt8>, _ cipherTextLen: Int,
    _ plainText: UnsafeMutablePointer<UInt8>, _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe transforming(cipherText, cipherTextLen, plainText, plainTextLen) { text throws(StatusError) in
        guard let algorithm = padding.encryption(isRSA: key.isRSA) else { throw .parameter }
        let decrypted = try key.decrypt(text, algorithm)
        guard padding.isEmpty else { return decrypted }
        let count = decrypted.count
        let zeros = decrypted.withBytes { bytes in bytes.indices.prefix { bytes[$0] == 0 }.count }
        return decrypted.narrowed(to: zeros..<count)
    }
}

/// Applies a body to the caller's bytes, and writes the result into the caller's buffer.
private func transforming(
    _ input: UnsafePointer<UInt8>, _ count: Int, _ output: UnsafeMutablePointer<UInt8>,
    _ room: UnsafeMutablePointer<Int>, _ body: (Span<UInt8>) throws(StatusError) -> SecretBytes
) -> OSStatus {
    guard count >= 0 else { return errSecParam }
    // The caller guarantees that the input and the buffer are valid.
    do throws(StatusError) {
        let result = try body(unsafe Span(_unsafeStart: input, count: count))
        guard unsafe result.count <= room.pointee else { return errSecParam }
        result.withBytes { bytes in
            for index in bytes.indices { unsafe output[index] = bytes[index] }
        }
        unsafe room.pointee = result.count
        return errSecSuccess
    } catch { return error.status }
}

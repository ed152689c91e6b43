// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// Bitwarden's passphrase protection of an export: PBKDF2 or Argon2id, then HKDF-Expand (RFC 5869) to a key for
/// AES-256-CBC and one for HMAC-SHA256.
struct BitwardenEncryption {
    private let key: (Secret) throws(ImportError) -> Secret
    private let data: Box
    /// A box that only the right key opens, to detect a wrong passphrase.
    private let validation: Box

    /// The format `2.VECTOR|CIPHERTEXT|CODE`, each part in base64.
    private struct Box {
        let vector: Secret
        let ciphertext: Secret
        let code: Secret

        init(_ value: JSONValue?, _ name: String) throws(ImportError) {
            let flaw = ImportError.malformed(name, "it is not encrypted as Bitwarden does it")
            guard let text = value?.text, text.hasPrefix("2.") else { throw flaw }
            let parts = text.dropFirst(2).split(separator: "|", omittingEmptySubsequences: false)
            let decoded = try parts.map { part throws(ImportError) in try Secret(plain: String(part)).decodedBase64() }
                .compactMap { $0 }
            guard parts.count == 3, decoded.count == 3 else { throw flaw }
            (vector, ciphertext, code) = (decoded[0], decoded[1], decoded[2])
            guard vector.count == 16, code.count == 32, !ciphertext.isEmpty, ciphertext.count % 16 == 0 else {
                throw flaw
            }
        }
    }

    init(_ root: JSONValue) throws(ImportError) {
        guard let salt = root["salt"]?.text else { throw .malformed("salt", "it is missing") }
        let bytes = Array(salt.utf8)
        // The values that Bitwarden offers, with some margin.
        func number(_ name: String, in bounds: ClosedRange<Int>) throws(ImportError) -> Int {
            guard let number = root[name]?.integer, bounds.contains(number) else { throw .tooExpensive }
            return number
        }
        switch root["kdfType"]?.integer {
        case 0:
            let iterations = try number("kdfIterations", in: 1...10_000_000)
            key = { passphrase throws(ImportError) in
                do throws(CryptoError) {
                    return Secret(
                        try ForeignDerivation.pbkdf2SHA256(passphrase.bytes, salt: bytes.span, iterations: iterations))
                } catch { throw ImportError(library: error) }
            }
        case 1:
            let passes = try number("kdfIterations", in: 1...100)
            let mebibytes = try number("kdfMemory", in: 1...2048)
            let lanes = try number("kdfParallelism", in: 1...64)
            key = { passphrase throws(ImportError) in
                do throws(CryptoError) {
                    let hash = try MessageAuthentication.plainSHA256(bytes.span)
                    return Secret(
                        try ForeignDerivation.argon2id(
                            passphrase.bytes, salt: hash.span, passes: passes, kibibytes: mebibytes << 10,
                            lanes: lanes))
                } catch {
                    throw error == .unavailable
                        ? .missing("libargon2", package: "libargon2-1") : ImportError(library: error)
                }
            }
        default: throw .otherFormat("a key derivation that is not known", hint: "upgrade vault")
        }
        data = try Box(root["data"], "data")
        validation = try Box(root["encKeyValidation_DO_NOT_EDIT"], "encKeyValidation_DO_NOT_EDIT")
    }

    func opened(_ passphrase: Secret) throws(ImportError) -> Secret {
        let key = try key(passphrase)
        let (encryption, authentication) = (try expanded(key, "enc"), try expanded(key, "mac"))
        guard try isGenuine(validation, authentication) else { throw .wrongPassphrase }
        guard try isGenuine(data, authentication) else { throw .malformed("data", "it was changed") }
        do throws(CryptoError) {
            return try data.vector.withBytes { vector throws(CryptoError) in
                try data.ciphertext.withBytes { text throws(CryptoError) in
                    Secret(try ForeignCipher.openedCBC(text, key: encryption.bytes, vector: vector))
                }
            }
        } catch {
            guard error == .authenticationFailed else { throw ImportError(library: error) }
            throw .malformed("data", "it cannot be decrypted")
        }
    }

    private func expanded(_ key: Secret, _ label: String) throws(ImportError) -> Secret {
        let message = Array(label.utf8) + [1]
        return try secured(Secret(try MessageAuthentication.sha256.code(of: message.span, key: key.bytes)))
    }

    private func isGenuine(_ box: Box, _ key: Secret) throws(ImportError) -> Bool {
        let message = try Secret.assembled(capacity: 16 + box.ciphertext.count) { message throws(CryptoError) in
            try message.append(box.vector)
            try message.append(box.ciphertext)
        }
        return try secured(
            try message.withBytes { bytes throws(CryptoError) in
                Secret(try MessageAuthentication.sha256.code(of: bytes, key: key.bytes))
            }
        ).isEqual(to: box.code)
    }
}

extension ImportError {
    init(library error: CryptoError) {
        self = error == .unavailable ? .missing("libcrypto", package: "libssl3") : .cryptography(error)
    }
}

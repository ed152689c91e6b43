// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// Bitwarden's passphrase protection of an export: PBKDF2 or Argon2id, then HKDF-Expand (RFC 5869) to a key for
/// AES-256-CBC and one for HMAC-SHA256.
struct BitwardenEncryption {
    /// The values that Bitwarden offers, with some margin.
    private static let iterations = 1...10_000_000
    private static let passes = 1...100
    private static let mebibytes = 1...2048
    private static let lanes = 1...64

    private enum Derivation {
        case pbkdf2(iterations: Int)
        case argon2id(passes: Int, mebibytes: Int, lanes: Int)
    }

    private let derivation: Derivation
    private let salt: String
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
            guard parts.count == 3 else { throw flaw }
            var decoded: [Secret] = []
            for part in parts {
                let bytes = Array(part.utf8)
                guard let piece = try Secret.decoding(base64: bytes.span) else { throw flaw }
                decoded.append(piece)
            }
            (vector, ciphertext, code) = (decoded[0], decoded[1], decoded[2])
            guard vector.count == 16, code.count == 32, !ciphertext.isEmpty, ciphertext.count % 16 == 0 else {
                throw flaw
            }
        }
    }

    init(_ root: JSONValue) throws(ImportError) {
        guard let salt = root["salt"]?.text else { throw .malformed("salt", "it is missing") }
        self.salt = salt
        switch root["kdfType"]?.integer {
        case 0:
            guard let iterations = root["kdfIterations"]?.integer, Self.iterations.contains(iterations) else {
                throw .tooExpensive
            }
            derivation = .pbkdf2(iterations: iterations)
        case 1:
            guard let passes = root["kdfIterations"]?.integer, Self.passes.contains(passes),
                let mebibytes = root["kdfMemory"]?.integer, Self.mebibytes.contains(mebibytes),
                let lanes = root["kdfParallelism"]?.integer, Self.lanes.contains(lanes)
            else { throw .tooExpensive }
            derivation = .argon2id(passes: passes, mebibytes: mebibytes, lanes: lanes)
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

    private func key(_ passphrase: Secret) throws(ImportError) -> Secret {
        do throws(CryptoError) {
            switch derivation {
            case .pbkdf2(let iterations):
                let salt = Array(salt.utf8)
                return Secret(
                    try ForeignDerivation.pbkdf2SHA256(passphrase.bytes, salt: salt.span, iterations: iterations))
            case .argon2id(let passes, let mebibytes, let lanes):
                let salt = Array(salt.utf8)
                let hash = try MessageAuthentication.plainSHA256(salt.span)
                return Secret(
                    try ForeignDerivation.argon2id(
                        passphrase.bytes, salt: hash.span, passes: passes, kibibytes: mebibytes << 10, lanes: lanes))
            }
        } catch {
            if case .argon2id = derivation, error == .unavailable {
                throw .missing("libargon2", package: "libargon2-1")
            }
            throw ImportError(library: error)
        }
    }

    /// HKDF-Expand to 32 bytes: one block.
    private func expanded(_ key: Secret, _ label: String) throws(ImportError) -> Secret {
        let message = Array(label.utf8) + [1]
        return try secured(Secret(try MessageAuthentication.sha256.code(of: message.span, key: key.bytes)))
    }

    private func isGenuine(_ box: Box, _ key: Secret) throws(ImportError) -> Bool {
        try secured(try code(of: box, key)).isEqual(to: box.code)
    }

    private func code(of box: Box, _ key: Secret) throws(CryptoError) -> Secret {
        var message = try SecretBuffer(capacity: 16 + box.ciphertext.count)
        try box.vector.withBytes { bytes throws(CryptoError) in try message.append(bytes) }
        try box.ciphertext.withBytes { bytes throws(CryptoError) in try message.append(bytes) }
        return try message.withBytes { bytes throws(CryptoError) in
            Secret(try MessageAuthentication.sha256.code(of: bytes, key: key.bytes))
        }
    }
}

extension ImportError {
    /// Maps an error of libcrypto.
    init(library error: CryptoError) {
        self = error == .unavailable ? .missing("libcrypto", package: "libssl3") : .cryptography(error)
    }
}

// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultFormat

/// The parsers of passkeys: canonical bytes are written again byte for byte, and options keep their bounds.
extension FuzzedFormat {
    static var ofPasskeys: [[UInt8]] {
        let vectors = ["none-es256", "packed-eddsa"].map { (try? Vectors.table("webauthn/\($0).txt")) ?? [:] }
        let keys = ((try? Vectors.table("webauthn/pkcs8.txt")) ?? [:]).sorted { $0.key < $1.key }
        let creation = #"""
            {"rp":{"id":"a.b","name":"A"},"user":{"id":"AQ","name":"b","displayName":"\u00e9"},"timeout":6e4,
            "challenge":"AAECAwQFBgcICQoLDA0ODw","pubKeyCredParams":[{"type":"public-key","alg":-7}],
            "excludeCredentials":[{"type":"public-key","id":"AQ"}],"extensions":{"prf":{"eval":{"first":"AA"}}}}
            """#
        let request = #"""
            {"challenge":"AAECAwQFBgcICQoLDA0ODw","rpId":"a.b","userVerification":"required",
            "allowCredentials":[{"type":"public-key","id":"AQ"}],
            "extensions":{"prf":{"evalByCredential":{"AQ":{"first":"AA","second":""}}}}}
            """#
        return vectors.flatMap { vector in
            [(cbor, "create.attestationObject"), (authenticatorData, "get.authenticatorData")].map { target, name in
                [target.rawValue] + [UInt8](hexadecimal: vector[name] ?? "")
            }
        } + keys.map { [pkcs8.rawValue] + [UInt8](hexadecimal: $0.value) } + [
            [creationOptions.rawValue] + Array(creation.utf8), [requestOptions.rawValue] + Array(request.utf8),
        ]
    }

    func holdsPasskey(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .cbor:
            guard let value = try? CBORReader.read(bytes.span) else { return true }
            return value.encoded == bytes
        case .authenticatorData:
            let object = AttestationObject(bytes.span)
            guard object.map({ $0.encoded == bytes }) ?? true else { return false }
            guard let data = AuthenticatorData(bytes.span) else { return true }
            return data.encoded == bytes
        case .pkcs8:
            guard let key = PKCS8PrivateKey(bytes.span) else { return true }
            let (secret, length) =
                switch key.kind {
                case .p256: (32, 65)
                case .p384: (48, 97)
                case .p521: (66, 133)
                case .ed25519: (32, 32)
                case .rsa: (key.secret.count, 0)
                }
            return key.secret.count == secret && bytes.indices.contains(key.secret.lowerBound)
                && key.secret.upperBound <= bytes.count
                && key.publicKey.map { $0.count == length && $0.upperBound <= bytes.count } ?? true
        case .creationOptions:
            guard let node = try? JSONNode(bytes.span), let options = try? CreationOptions(node, of: bytes.span) else {
                return true
            }
            let names = [options.userName, options.displayName, options.relyingPartyName]
            return holds(options.common) && (1...64).contains(options.userID.count) && !options.algorithms.isEmpty
                && names.allSatisfy { $0.utf8.count <= 256 } && options.excluded.allSatisfy(isIdentifier)
        default:
            guard let node = try? JSONNode(bytes.span), let options = try? RequestOptions(node, of: bytes.span) else {
                return true
            }
            return holds(options.common) && (options.allowed?.allSatisfy(isIdentifier) ?? true)
        }
    }

    private func holds(_ options: CredentialOptions) -> Bool {
        options.challenge.count >= 16 && options.timeout >= .seconds(15) && options.timeout <= .seconds(120)
    }

    private func isIdentifier(_ id: [UInt8]) -> Bool { (1...1023).contains(id.count) }
}

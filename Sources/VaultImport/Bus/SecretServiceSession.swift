// SPDX-License-Identifier: Apache-2.0
internal import VaultBus
internal import VaultCrypto
internal import VaultFormat

/// A session with a provider of `org.freedesktop.secrets`: secrets are transferred encrypted, or in clear text.
struct SecretServiceSession {
    /// The algorithms, in order of preference.
    enum Algorithm: String, CaseIterable {
        case diffieHellman = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
        /// For a system without libcrypto, or a provider that supports nothing else: processes of the same user that
        /// monitor the bus can read the secrets.
        case plain
    }

    enum Opened {
        case secret(Secret)
        case unusable(String)
    }

    let algorithm: Algorithm
    let path: String
    private let key: Secret?

    /// Opens a session with the first algorithm that both sides support.
    init(_ provider: SecretServiceProvider, _ algorithms: [Algorithm]) throws(BusError) {
        if algorithms.contains(.diffieHellman), let session = try Self.encrypted(provider) {
            self = session
            return
        }
        guard algorithms.contains(.plain) else { throw .refused(name: Self.notSupported) }
        path = try provider.openSession(Algorithm.plain.rawValue, publicKey: nil).path
        (algorithm, key) = (.plain, nil)
    }

    private init(path: String, key: Secret) { (algorithm, self.path, self.key) = (.diffieHellman, path, key) }

    private static let notSupported = "org.freedesktop.DBus.Error.NotSupported"

    /// Opens an encrypted session; `nil` without libcrypto, or if the provider does not support the algorithm.
    private static func encrypted(_ provider: SecretServiceProvider) throws(BusError) -> SecretServiceSession? {
        let group: OakleyGroup2
        do throws(CryptoError) { group = try OakleyGroup2() } catch {
            guard error == .unavailable else { throw .cryptography(error) }
            return nil
        }
        let (path, peer): (String, [UInt8]?)
        do throws(BusError) {
            (path, peer) = try provider.openSession(Algorithm.diffieHellman.rawValue, publicKey: group.publicKey)
        } catch {
            guard error == .refused(name: notSupported) else { throw error }
            return nil
        }
        guard let peer else { throw .malformed }
        let key: Secret?
        do throws(CryptoError) { key = try Self.key(group, peer) } catch { throw .cryptography(error) }
        guard let key else { throw .malformed }
        return SecretServiceSession(path: path, key: key)
    }

    private static func key(_ group: borrowing OakleyGroup2, _ peer: [UInt8]) throws(CryptoError) -> Secret? {
        guard let shared = try group.shared(with: peer.span) else { return nil }
        return Secret(try ForeignDerivation.hkdfSHA256(shared, count: 16))
    }

    func opened(_ secret: SecretServiceProvider.TransferredSecret) throws(CryptoError) -> Opened {
        guard secret.session == path else { return .unusable("its secret is of another session") }
        guard secret.contentType.utf8.count <= 255 else { return .unusable("its content type has more than 255 bytes") }
        guard let value = secret.value else { return .unusable(Self.tooLarge) }
        guard let key else { return value.count <= Layout.valueLimit ? .secret(value) : .unusable(Self.tooLarge) }
        guard let vector = secret.parameters, vector.count == 16 else {
            return .unusable("the initialization vector of its secret has another length")
        }
        do throws(CryptoError) {
            let opened = try value.withBytes { text throws(CryptoError) in
                Secret(try ForeignCipher.openedCBC(text, key: key.bytes, vector: vector.span))
            }
            return opened.count <= Layout.valueLimit ? .secret(opened) : .unusable(Self.tooLarge)
        } catch {
            guard error == .authenticationFailed else { throw error }
            return .unusable("its secret does not decrypt")
        }
    }

    private static let tooLarge = "its secret has more than 16 MiB"
}

// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import VaultCrypto

// Conversions of secrets from and to common types. `Data` and `String` are ordinary memory, whose copies are not wiped
// and stay behind. Prefer `withSecret`, which lends the bytes.

extension Secret {
    /// Copies data; the caller's copy is not wiped.
    ///
    /// - Throws: `.storage(.resourceUnavailable)` if the memory cannot be allocated.
    public convenience init(copying data: Data) throws(VaultError) { try self.init(copying: Array(data)) }

    /// Copies the UTF-8 of a text; the caller's copy is not wiped.
    public convenience init(copying text: String) throws(VaultError) { try self.init(copying: Array(text.utf8)) }

    /// - Parameter bytes: a copy that is wiped.
    private convenience init(copying bytes: consuming [UInt8]) throws(VaultError) {
        var bytes = bytes
        defer { wipe(&bytes) }
        do throws(CryptoError) { self.init(try SecretBytes(copying: bytes.span)) } catch {
            throw .storage(StorageError(error))
        }
    }

    /// Returns a copy that is not wiped.
    public func secretData() -> Data { withBytes { bytes in Data(bytes.array(bytes.indices)) } }

    /// Returns a copy that is not wiped; `nil` if the bytes are not UTF-8.
    public func secretString() -> String? { withBytes { String(validating: $0.array($0.indices), as: UTF8.self) } }
}

extension Item {
    /// Returns a copy of the secret, or a field of it, that is not wiped.
    ///
    /// - Returns: `nil` if there is none.
    /// - Throws: as ``openedSecret(field:)``.
    public func secretData(field: String? = nil) throws(VaultError) -> Data? {
        try openedSecret(field: field)?.secretData()
    }

    /// Returns a copy of the secret, or a field of it, that is not wiped.
    ///
    /// - Returns: `nil` if there is none, or it is not UTF-8.
    /// - Throws: as ``openedSecret(field:)``.
    public func secretString(field: String? = nil) throws(VaultError) -> String? {
        try openedSecret(field: field)?.secretString()
    }
}

extension Passphrase {
    /// Makes a passphrase from a text of the program, or from one that was typed, whose copies are not wiped.
    ///
    /// - Throws: `.storage(.unacceptablePassphrase)`.
    public init(_ text: String) throws(VaultError) {
        let secret = try Secret(copying: text)
        do throws(CryptoError) { try self.init(secret.bytes) } catch { throw .storage(StorageError(error)) }
    }
}

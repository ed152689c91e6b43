// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import VaultCrypto

// Secrets in the types that programs have and want. `Data` and `String` are ordinary memory, of which copies stay
// behind wherever they were: nobody wipes them. `withSecret` lends the bytes, and is to be preferred.

extension Secret {
    /// Copies data, of which the caller's copy stays as it is.
    ///
    /// - Throws: `.storage(.resourceUnavailable)` without memory for it.
    public convenience init(copying data: Data) throws(VaultError) { try self.init(copying: Array(data)) }

    /// Copies the UTF-8 of a text, of which the caller's copy stays as it is.
    public convenience init(copying text: String) throws(VaultError) { try self.init(copying: Array(text.utf8)) }

    /// - Parameter bytes: a copy that is wiped.
    private convenience init(copying bytes: consuming [UInt8]) throws(VaultError) {
        var bytes = bytes
        defer { wipe(&bytes) }
        do throws(CryptoError) { self.init(try SecretBytes(copying: bytes.span)) } catch {
            throw .storage(StorageError(error))
        }
    }

    /// A copy that nobody wipes.
    public func secretData() -> Data { withBytes { bytes in Data(bytes.array(bytes.indices)) } }

    /// A copy that nobody wipes; nil when the bytes are no UTF-8.
    public func secretString() -> String? { withBytes { String(validating: $0.array($0.indices), as: UTF8.self) } }
}

extension Item {
    /// The secret, or a field of it, as a copy that nobody wipes.
    ///
    /// - Returns: nil when there is none.
    /// - Throws: as ``openedSecret(field:)``.
    public func secretData(field: String? = nil) throws(VaultError) -> Data? {
        try openedSecret(field: field)?.secretData()
    }

    /// The secret, or a field of it, as a copy that nobody wipes.
    ///
    /// - Returns: nil when there is none, or it is no UTF-8.
    /// - Throws: as ``openedSecret(field:)``.
    public func secretString(field: String? = nil) throws(VaultError) -> String? {
        try openedSecret(field: field)?.secretString()
    }
}

extension Passphrase {
    /// A passphrase of the program's own text or of one that a person typed into a text, whose copies nobody wipes.
    ///
    /// - Throws: `.storage(.unacceptablePassphrase)`.
    public init(_ text: String) throws(VaultError) {
        let secret = try Secret(copying: text)
        do throws(CryptoError) { try self.init(secret.bytes) } catch { throw .storage(StorageError(error)) }
    }
}

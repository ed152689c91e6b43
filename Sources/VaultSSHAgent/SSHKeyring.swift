// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultDoorKit

/// A key stored in a vault.
struct StoredSSHKey: Sendable {
    let publicKey: SSHPublicKey
    let certificate: SSHCertificate?
    let comment: String
    let isConfirmed: Bool

    /// The names by which clients refer to the key.
    var names: [SSHKeyName] { [.plain(publicKey)] + (certificate.map { [.certificate($0)] } ?? []) }
}

/// A key to be stored.
struct NewSSHKey: Sendable {
    let key: SSHPrivateKey
    let certificate: SSHCertificate?
    let comment: String
    let isConfirmed: Bool
}

/// The keys stored in a vault. A call may wait for the vault's agent, but never for the user.
protocol SSHKeyring: Sendable {
    /// - Throws: `.unavailable` while the vault is locked.
    func keys(for client: DoorClient) throws(SSHRefusal) -> [StoredSSHKey]

    /// Returns the key with this public part, and its file; `nil` if there is none.
    func key(_ key: SSHPublicKey, for client: DoorClient) throws(SSHRefusal) -> (key: StoredSSHKey, file: Secret)?

    /// Adds a key, or updates the existing one, keeping its certificate if the new one has none.
    func keep(_ new: NewSSHKey, for client: DoorClient) throws(SSHRefusal)

    /// Removes a key with its certificate, or a certificate alone.
    ///
    /// - Returns: the certificate removed together with its key.
    /// - Throws: `.denied` if there is no such key.
    func remove(_ name: SSHKeyName, for client: DoorClient) throws(SSHRefusal) -> SSHCertificate?
}

/// The user to whom the keys belong.
protocol SSHPerson: Sendable {
    /// Asks the user to unlock the vault.
    ///
    /// - Parameter isForwarded: whether the request may come from another machine.
    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome

    /// Asks for permission to use a key.
    ///
    /// - Parameter question: the lines of the text.
    func confirm(_ question: [String], for client: DoorClient, until stop: PromptStop) -> PromptOutcome
}

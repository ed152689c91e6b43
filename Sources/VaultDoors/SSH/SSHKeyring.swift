// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// A key that a vault keeps.
struct StoredSSHKey: Sendable {
    let publicKey: SSHPublicKey
    let certificate: SSHCertificate?
    let comment: String
    let isConfirmed: Bool

    /// What clients know it by.
    var names: [SSHKeyName] { [.plain(publicKey)] + (certificate.map { [.certificate($0)] } ?? []) }
}

/// A key that is to be kept.
struct NewSSHKey: Sendable {
    let key: SSHPrivateKey
    let certificate: SSHCertificate?
    let comment: String
    let isConfirmed: Bool
}

/// The keys that a vault keeps. Each call may wait for the vault's agent, and none for a person.
protocol SSHKeyring: Sendable {
    /// - Throws: `.unavailable` while the vault is locked, which a person may change.
    func keys(for client: DoorClient) throws(SSHRefusal) -> [StoredSSHKey]

    /// The key with this public part, and its file. Nil: there is none.
    func key(_ key: SSHPublicKey, for client: DoorClient) throws(SSHRefusal) -> (key: StoredSSHKey, file: Secret)?

    /// Adds a key, or gives the one that is there this certificate, if any, and the rest.
    func keep(_ new: NewSSHKey, for client: DoorClient) throws(SSHRefusal)

    /// Removes a key, with its certificate, or a certificate alone.
    ///
    /// - Returns: the certificate that went with its key.
    /// - Throws: `.denied` when there is none.
    func remove(_ name: SSHKeyName, for client: DoorClient) throws(SSHRefusal) -> SSHCertificate?
}

/// The person whose keys they are.
protocol SSHPerson: Sendable {
    /// Has the vault unlocked.
    ///
    /// - Parameter isForwarded: whether a program on another machine may want it.
    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome

    /// Asks whether a key may be used.
    ///
    /// - Parameter question: lines.
    func confirm(_ question: [String], for client: DoorClient, until stop: PromptStop) -> PromptOutcome
}

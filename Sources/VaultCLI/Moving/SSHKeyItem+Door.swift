// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultSSHAgent
internal import VaultImport

extension SSHKeyItem {
    /// Makes the item that `vault ssh-add` makes of the file; fails if the door cannot use the key, or it has a
    /// passphrase.
    init?(file: Secret, isConfirmed: Bool) {
        guard let key = SSHItems.described(file: file, isConfirmed: isConfirmed) else { return nil }
        self.init(service: SSHItems.service, fingerprint: key.fingerprint, attributes: key.attributes)
    }
}

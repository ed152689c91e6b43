// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultSSHAgent
internal import VaultImport

extension SSHKeyItem {
    /// Makes the item of `vault ssh-add`; fails if the door cannot use the key, or it has a passphrase.
    init?(file: Secret, isConfirmed: Bool) {
        guard let key = SSHItems.described(file: file, isConfirmed: isConfirmed) else { return nil }
        self.init(service: SSHItems.service, fingerprint: key.fingerprint, attributes: key.attributes)
    }

    /// Makes the item, and the file, of a key in PKCS#8; returns `nil` if the door cannot use the key.
    static func converted(_ key: Secret, comment: String, isConfirmed: Bool) -> (file: Secret, item: SSHKeyItem)? {
        guard let file = SSHKeyConversion.file(key, comment: comment),
            let item = SSHKeyItem(file: file, isConfirmed: isConfirmed)
        else { return nil }
        return (file, item)
    }
}

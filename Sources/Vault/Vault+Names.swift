// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto
public import VaultFormat

// Aliases for programs that have their own `Item` or `Query`. The name of this module cannot qualify them, since the
// module has a class of the same name: `Vault.Item` is looked up in the class.

public typealias VaultItem = Item
public typealias VaultQuery = Query
public typealias VaultTransaction = Transaction

extension Vault {
    public typealias Item = VaultItem
    public typealias Query = VaultQuery
    public typealias Transaction = VaultTransaction
    public typealias Attribute = VaultFormat.Attribute
    public typealias Secret = VaultCrypto.Secret
}

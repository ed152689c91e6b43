// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto
public import VaultFormat

// A program may have an `Item` or a `Query` of its own. The name of this module does not tell the two apart, since the
// module's class is called the same: `Vault.Item` is looked for in the class.

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

// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto
public import VaultFormat

// Aliases for programs that have their own `Item` or `Query`. The name of this module cannot qualify them, since the
// module has a class of the same name: `Vault.Item` is looked up in the class.

/// Another name of ``Item``.
public typealias VaultItem = Item
/// Another name of ``Query``.
public typealias VaultQuery = Query
/// Another name of ``Transaction``.
public typealias VaultTransaction = Transaction

extension Vault {
    /// The items that the verbs take and return.
    public typealias Item = VaultItem
    /// The conditions by which the verbs find items.
    public typealias Query = VaultQuery
    /// The verbs inside a transaction.
    public typealias Transaction = VaultTransaction
    /// The names of attributes, such as `.service`.
    public typealias Attribute = VaultFormat.Attribute
    /// The bytes of a secret in locked memory.
    public typealias Secret = VaultCrypto.Secret
}

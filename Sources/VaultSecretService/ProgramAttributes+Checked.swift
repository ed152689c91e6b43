// SPDX-License-Identifier: Apache-2.0
internal import Vault

extension ProgramAttributes {
    /// The attributes that a program sends.
    ///
    /// - Throws: `.invalid` for a name or a value that is not allowed.
    init(checking values: [String: String]) throws(ServiceRefusal) {
        for name in values.keys {
            guard (1...255).contains(name.utf8.count) else { throw .invalid("a name has 1 to 255 bytes") }
            guard !name.hasPrefix(ItemNames.prefix) else { throw .invalid("names with 'vault.' are the vault's own") }
        }
        // As the service attribute, the value would turn the item into the record of a collection.
        guard !values.values.contains(CollectionRecord.service) else {
            throw .invalid("'\(CollectionRecord.service)' is the vault's own")
        }
        self.init(given: values)
    }
}

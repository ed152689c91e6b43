// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto

/// A difference between two items with the same primary key.
struct ItemDifference {
    /// The text for display, without the secret.
    let text: String
    /// The secret of a field.
    var secret: Secret?
}

extension ItemConflict {
    /// Returns the differences by which the user can tell an item from the other, apart from its secret.
    func differences(of value: Value) -> [ItemDifference] {
        guard let item = value.item else { return [] }
        var found = value.isHereOnly ? [ItemDifference(text: "of this device alone")] : []
        let items = values.compactMap(\.item)
        for name in ["label", "comment", "description", "accessible"] + items.userAttributeNames {
            guard Set(items.map { $0.attribute(named: name) ?? "" }).count > 1 else { continue }
            let (name, text) = (name.printable, (item.attribute(named: name) ?? "").printable)
            found.append(ItemDifference(text: text.isEmpty ? "no \(name)" : "\(name) '\(text)'"))
        }
        for name in Set(items.flatMap(\.fields.keys)).sorted() where !items.haveOneField(named: name) {
            let field = item.fields[name]
            let text = field == nil ? "no field '\(name.printable)'" : "field '\(name.printable)'"
            found.append(ItemDifference(text: text, secret: field))
        }
        return found
    }
}

extension [Item] {
    fileprivate var userAttributeNames: [String] { Set(flatMap(\.userAttributes.keys)).sorted() }

    /// Returns whether all of them have the same secret in this field.
    fileprivate func haveOneField(named name: String) -> Bool {
        guard let first = first?.fields[name] else { return false }
        return dropFirst().allSatisfy { item in
            guard let field = item.fields[name] else { return false }
            return first.withBytes { a in field.withBytes { b in isEqualInConstantTime(a, b) } }
        }
    }
}

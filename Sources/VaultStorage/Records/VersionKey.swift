// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The identity of a version of an item.
struct VersionKey: Hashable {
    let id: ItemID
    let version: UInt64

    init(_ id: ItemID, _ version: UInt64) { (self.id, self.version) = (id, version) }

    init(_ operation: Operation) { self.init(operation.id, operation.version) }
}

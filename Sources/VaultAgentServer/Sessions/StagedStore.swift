// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

/// The parts of a store that a client sends one after the other. The store is one request, made when its last part has
/// arrived.
struct StagedStore {
    private var items: [Item] = []
    private var deleted: [Query] = []
    private var bytes = 0 { didSet { count(bytes - oldValue) } }
    private var failure: VaultError?
    /// Whether the last request was a part of a store, but not its last part.
    private(set) var isIncomplete = false
    /// Adds bytes to the sum of all connections.
    private let count: (Int) -> Void

    init(count: @escaping (Int) -> Void) { self.count = count }

    /// - Parameters:
    ///   - size: of the part, in bytes.
    ///   - limit: of this store and of those of all connections, in bytes.
    ///   - sum: the bytes of the stores of all connections.
    mutating func take(_ part: StoreRequest, _ size: Int, limit: Int, sum: Int) {
        isIncomplete = !part.isLast
        guard failure == nil else { return }
        if bytes + size > limit {
            drop(for: .storage(.valueTooLarge))
        } else if sum + size > limit {
            drop(for: .agent(.busy))
        } else {
            items += part.items
            deleted += part.deleted
            bytes += size
        }
    }

    /// Frees the parts. Later parts are still read, and then refused.
    mutating func drop(for reason: VaultError?) { (items, deleted, bytes, failure) = ([], [], 0, reason) }

    /// Returns the whole store, and frees its parts.
    ///
    /// - Throws: the reason why parts were dropped.
    mutating func finish(replacing: Bool) throws(VaultError) -> StoreRequest {
        defer { drop(for: nil) }
        if let failure { throw failure }
        return StoreRequest(items, replacing: replacing, deleting: deleted, isLast: true)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The items that match, as they are now, and again whenever that has changed: no change is missed, and none is counted
/// twice. A slow reader gets the newest items, and those in between never.
///
/// The sequence ends when the task that reads it is cancelled, and throws what keeps the store from being looked at:
/// `.closed`, `.storage(.noVault)`, `.locked`. With ``Query/leavesOutLocked`` it goes on through a lock, without the
/// items that can be read while unlocked only.
public struct ItemResults: AsyncSequence, Sendable {
    public typealias Element = [Item]
    public typealias Failure = VaultError

    fileprivate let store: any ItemStore
    fileprivate let query: Query

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let results: ItemResults
        /// Nil before the first look.
        private var changes: ChangeSequence.Iterator?

        fileprivate init(_ results: ItemResults) { self.results = results }

        /// - Returns: the items, or none of them; nil when the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(VaultError) -> [Item]? {
            if changes == nil {
                changes = results.store.changes(matching: results.query).makeAsyncIterator()
            } else {
                guard let change = await changes?.next(isolation: actor) else { return nil }
                try check(change)
                // One look sees all that has come meanwhile.
                for change in changes?.takeRest() ?? [] { try check(change) }
            }
            do throws(VaultError) { return try await results.store.allMatching(results.query) } catch {
                guard error == .cancelled, Task.isCancelled else { throw error }
                return nil
            }
        }

        public mutating func next() async throws(VaultError) -> [Item]? { try await next(isolation: nil) }

        private func check(_ change: ItemChange) throws(VaultError) {
            if case .failed(let error) = change.kind { throw error }
        }
    }
}

extension ItemStore {
    /// The items that match, now and whenever they change.
    ///
    /// - Parameter query: with a class; its limit holds for each look.
    public func results(matching query: Query) -> ItemResults { ItemResults(store: self, query: query) }
}

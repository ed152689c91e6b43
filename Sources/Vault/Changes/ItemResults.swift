// SPDX-License-Identifier: Apache-2.0

/// The matching items as they are now, and again after every change: no change is missed and none is counted twice. A
/// slow reader gets the newest items and skips intermediate states.
///
/// The sequence ends when the reading task is cancelled, and throws the error that makes the store unreadable:
/// `.closed`, `.storage(.noVault)`, `.locked`. With ``Query/leavesOutLocked`` it continues through a lock, without the
/// items that are readable only while unlocked.
public struct ItemResults: AsyncSequence, Sendable {
    public typealias Element = [Item]
    public typealias Failure = VaultError

    fileprivate let store: any ItemStore
    fileprivate let query: Query

    /// A reader, which begins with the items of the moment.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// A reader of the items.
    public struct Iterator: AsyncIteratorProtocol {
        private let results: ItemResults
        /// `nil` before the first read.
        private var changes: ChangeSequence.Iterator?

        fileprivate init(_ results: ItemResults) { self.results = results }

        /// - Returns: the items, possibly none; `nil` if the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(VaultError) -> [Item]? {
            if changes == nil {
                changes = results.store.changes(matching: results.query).makeAsyncIterator()
            } else {
                guard let change = await changes?.next(isolation: actor) else { return nil }
                try check(change)
                // A single read covers all changes that arrived meanwhile.
                for change in changes?.takeRest() ?? [] { try check(change) }
            }
            do throws(VaultError) { return try await results.store.allMatching(results.query) } catch {
                guard error == .cancelled, Task.isCancelled else { throw error }
                return nil
            }
        }

        /// The items now, or after the next change; `nil` if the task was cancelled.
        public mutating func next() async throws(VaultError) -> [Item]? { try await next(isolation: nil) }

        private func check(_ change: ItemChange) throws(VaultError) {
            if case .failed(let error) = change.kind { throw error }
        }
    }
}

extension ItemStore {
    /// The matching items, now and after every change.
    ///
    /// - Parameter query: has a class; its limit applies to each read.
    public func results(matching query: Query) -> ItemResults { ItemResults(store: self, query: query) }
}

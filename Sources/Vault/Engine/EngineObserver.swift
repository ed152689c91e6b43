// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// Forwards every change of a record to the engine's index and feed.
final class EngineObserver: RecordObserver {
    let index = ItemIndex()
    let feed = ChangeFeed()

    var isIndexing: Bool { index.isIndexing || feed.isIndexing }

    func record(at place: Int, changedFrom old: Record?, to new: Record?) {
        if index.isIndexing { index.record(at: place, changedFrom: old, to: new) }
        if feed.isIndexing { feed.record(at: place, changedFrom: old, to: new) }
    }

    func recordsWereReset() {
        index.recordsWereReset()
        if feed.isIndexing { feed.recordsWereReset() }
    }
}

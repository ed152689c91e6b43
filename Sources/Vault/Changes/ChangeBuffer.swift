// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization

/// Changes on their way to one reader: in order, one for each item, and no more than a reader can be expected to want.
package final class ChangeBuffer: Sendable {
    /// The most changes that wait. When there are more, `many` stands for all of them.
    static let most = 256

    private struct State {
        /// In the order of their sequences; nil where a later one of the same item has taken the place.
        var changes: [ItemChange?] = []
        var places: [UUID: Int] = [:]
        var count = 0
        /// Whether one of them is `many`, which tells all that nobody has read.
        var hasMany = false
        var hasEnded = false
        /// What the reader left behind to be called once, when there is something.
        var reader: (@Sendable () -> Void)?

        mutating func append(_ change: ItemChange) {
            changes.append(change)
            count += 1
            if change.kind == .many { hasMany = true }
            if let id = change.id { places[id] = changes.count - 1 }
        }

        mutating func removeAll() { (changes, places, count, hasMany) = ([], [:], 0, false) }
    }

    private let state = Mutex(State())

    package init() {}

    package func offer(_ change: ItemChange) {
        let reader: (@Sendable () -> Void)? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            put(change, &state)
            guard state.count > 0 else { return nil }
            defer { state.reader = nil }
            return state.reader
        }
        reader?()
    }

    private func put(_ change: ItemChange, _ state: inout State) {
        guard change.kind != .many, change.id == nil || !state.hasMany else { return putMany(change.sequence, &state) }
        var change = change
        if let id = change.id, let place = state.places[id], let earlier = state.changes[place] {
            state.changes[place] = nil
            state.places[id] = nil
            state.count -= 1
            guard let merged = earlier.merged(with: change) else { return }
            change = merged
        }
        if state.count >= ChangeBuffer.most {
            putMany(change.sequence, &state)
            guard change.id == nil else { return }
        }
        state.append(change)
        // One item that changes without end leaves a gap each time.
        if state.changes.count > 2 * ChangeBuffer.most {
            let left = state.changes.compactMap { $0 }
            state.removeAll()
            for change in left { state.append(change) }
        }
    }

    /// One stands for every change of an item that nobody has read; of what is said of the vault itself the last stays.
    private func putMany(_ sequence: UInt64, _ state: inout State) {
        let others = state.changes.compactMap { $0 }.filter { $0.id == nil && $0.kind != .many }.suffix(8)
        state.removeAll()
        // It is the last word: what went wrong before it went right again.
        for other in others + [ItemChange(.many, sequence: sequence)] { state.append(other) }
    }

    /// Nothing comes any more; what is there can still be read.
    package func end() {
        let reader = state.withLock { state in
            state.hasEnded = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?()
    }

    /// Takes what is there.
    ///
    /// - Parameter limit: how many, at most.
    /// - Returns: nil when nothing is there and nothing will come; none when nothing is there yet: `whenReady` is then
    ///   called once.
    package func take(
        _ limit: Int = .max, whenReady: @escaping @Sendable () -> Void
    ) -> [ItemChange]? {
        state.withLock { state in
            guard state.count > 0 else {
                guard !state.hasEnded else { return nil }
                state.reader = whenReady
                return []
            }
            var taken: [ItemChange] = []
            var index = 0
            while index < state.changes.count, taken.count < limit {
                if let change = state.changes[index] { taken.append(change) }
                index += 1
            }
            let left = state.changes[index...].compactMap { $0 }
            state.removeAll()
            for change in left { state.append(change) }
            return taken
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization

/// Buffered changes for one reader: in order, at most one per item, and bounded.
package final class ChangeBuffer: Sendable {
    /// The maximum number of waiting changes. Beyond it, `many` replaces all of them.
    static let most = 256

    private struct State {
        /// In the order of their sequences; `nil` where a later change of the same item replaced one.
        var changes: [ItemChange?] = []
        var places: [UUID: Int] = [:]
        var count = 0
        /// Whether one of them is `many`, which stands for all unread changes.
        var hasMany = false
        var hasEnded = false
        /// A callback of the reader, called once when something arrives.
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
        // An item that changes endlessly leaves a gap each time.
        if state.changes.count > 2 * ChangeBuffer.most {
            let left = state.changes.compactMap { $0 }
            state.removeAll()
            for change in left { state.append(change) }
        }
    }

    /// Replaces all unread changes of items by one `many`; of the changes of the vault itself, the last eight stay.
    private func putMany(_ sequence: UInt64, _ state: inout State) {
        let others = state.changes.compactMap { $0 }.filter { $0.id == nil && $0.kind != .many }.suffix(8)
        state.removeAll()
        // `many` comes last, so that a failure is followed by its recovery.
        for other in others + [ItemChange(.many, sequence: sequence)] { state.append(other) }
    }

    /// Ends the stream; the buffered changes can still be read.
    package func end() {
        let reader = state.withLock { state in
            state.hasEnded = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?()
    }

    /// Takes buffered changes.
    ///
    /// - Parameter limit: the maximum number of changes.
    /// - Returns: `nil` if the buffer is empty and has ended; an empty array if it is empty for now, and `whenReady` is
    ///   then called once.
    package func take(_ limit: Int = .max, whenReady: @escaping @Sendable () -> Void) -> [ItemChange]? {
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

// SPDX-License-Identifier: Apache-2.0

/// A dictionary for few keys, in their order: an item has a dozen fields, and most fields have one value.
///
/// Inlinable throughout: without specialization for its types it is many times slower.
@usableFromInline
package struct SortedMap<Key: Comparable, Value>: RandomAccessCollection, ExpressibleByDictionaryLiteral {
    @usableFromInline package typealias Element = (key: Key, value: Value)

    @usableFromInline var elements: [Element] = []

    @inlinable package init() {}

    /// For repeated keys, the last value counts.
    @inlinable package init(dictionaryLiteral elements: (Key, Value)...) {
        for (key, value) in elements { self[key] = value }
    }

    /// - Parameter elements: unique keys and their values.
    @inlinable package init(uniqueKeysWithValues elements: some Sequence<(Key, Value)>) {
        for (key, value) in elements { self[key] = value }
    }

    @usableFromInline init(sorted elements: [Element]) { self.elements = elements }

    @inlinable package mutating func reserveCapacity(_ count: Int) { elements.reserveCapacity(count) }

    @inlinable package var startIndex: Int { 0 }
    @inlinable package var endIndex: Int { elements.count }
    @inlinable package subscript(position: Int) -> Element { elements[position] }

    @inlinable package var keys: [Key] { elements.map(\.key) }
    @inlinable package var values: [Value] { elements.map(\.value) }

    /// The index of the key, or where it would be inserted.
    @inlinable func place(of key: Key) -> (index: Int, isHere: Bool) {
        // Keys that arrive in order go to the end.
        guard let last = elements.last, last.key >= key else { return (elements.count, false) }
        var (low, high) = (0, elements.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if elements[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return (low, !(key < elements[low].key))
    }

    @inlinable package subscript(key: Key) -> Value? {
        get {
            let (index, isHere) = place(of: key)
            return isHere ? elements[index].value : nil
        }
        set {
            let (index, isHere) = place(of: key)
            switch (isHere, newValue) {
            case (true, let value?): elements[index].value = value
            case (true, nil): elements.remove(at: index)
            case (false, let value?): elements.insert((key, value), at: index)
            case (false, nil): break
            }
        }
    }

    @inlinable package subscript(key: Key, default fallback: @autoclosure () -> Value) -> Value {
        get { self[key] ?? fallback() }
        _modify {
            let (index, isHere) = place(of: key)
            if !isHere { elements.insert((key, fallback()), at: index) }
            yield &elements[index].value
        }
    }

    @inlinable package func mapValues<T, E: Error>(_ body: (Value) throws(E) -> T) throws(E) -> SortedMap<Key, T> {
        var mapped: [(key: Key, value: T)] = []
        mapped.reserveCapacity(elements.count)
        for (key, value) in elements { mapped.append((key, try body(value))) }
        return SortedMap<Key, T>(sorted: mapped)
    }

    /// Visits the elements where they are. A loop over them retains and releases each key and each value.
    @inlinable package func visit(_ body: (_ key: borrowing Key, _ value: borrowing Value) -> Void) {
        let span = elements.span
        for index in span.indices { body(span[index].key, span[index].value) }
    }

    /// The keys for which the body returns a value.
    @inlinable package func compactMapValues<T>(_ body: (Key, Value) -> T?) -> SortedMap<Key, T> {
        var mapped: [(key: Key, value: T)] = []
        mapped.reserveCapacity(elements.count)
        for (key, value) in elements { if let made = body(key, value) { mapped.append((key, made)) } }
        return SortedMap<Key, T>(sorted: mapped)
    }

    @inlinable package func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> SortedMap {
        SortedMap(sorted: try elements.filter(isIncluded))
    }
}

extension SortedMap: Equatable where Value: Equatable {
    @inlinable package static func == (a: SortedMap, b: SortedMap) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { $0.key == $1.key && $0.value == $1.value }
    }
}

extension SortedMap: Hashable where Key: Hashable, Value: Hashable {
    @inlinable package func hash(into hasher: inout Hasher) {
        for (key, value) in elements {
            hasher.combine(key)
            hasher.combine(value)
        }
    }
}

extension SortedMap: Sendable where Key: Sendable, Value: Sendable {}

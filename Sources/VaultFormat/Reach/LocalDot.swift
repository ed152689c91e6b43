// SPDX-License-Identifier: Apache-2.0

/// A write's name in the vault file, which numbers the logs locally. Ordered by the stamp, then the number.
package struct LocalDot: Hashable, Comparable, Sendable {
    package var number: UInt16
    package var stamp: UInt64

    package init(number: UInt16, stamp: UInt64) { (self.number, self.stamp) = (number, stamp) }

    package static func < (a: LocalDot, b: LocalDot) -> Bool { (a.stamp, a.number) < (b.stamp, b.number) }

    init(parsing reader: inout SpanReader, of bytes: Span<UInt8>) throws(FormatError) {
        number = try reader.integer(UInt16.self, of: bytes, .replication)
        stamp = try reader.integer(UInt64.self, of: bytes, .replication)
    }

    func append(to output: inout [UInt8]) {
        output.append(integer: number)
        output.append(integer: stamp)
    }
}

/// The greatest stamp seen of each log, by the log's local number.
package struct LocalContext: Hashable, Sendable {
    /// In the order of the numbers, each once, with a stamp of at least 1.
    package private(set) var entries: [LocalDot] = []

    package init() {}

    /// The stamp of a log; 0 if nothing of it was seen.
    package subscript(number: UInt16) -> UInt64 {
        get {
            let index = place(of: number)
            return index < entries.count && entries[index].number == number ? entries[index].stamp : 0
        }
        set {
            let index = place(of: number)
            let isHere = index < entries.count && entries[index].number == number
            switch (isHere, newValue) {
            case (true, 0): entries.remove(at: index)
            case (true, _): entries[index].stamp = newValue
            case (false, 0): break
            case (false, _): entries.insert(LocalDot(number: number, stamp: newValue), at: index)
            }
        }
    }

    private func place(of number: UInt16) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Adds an entry known to follow all others.
    mutating func append(_ entry: LocalDot) { entries.append(entry) }
}

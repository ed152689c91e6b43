// SPDX-License-Identifier: Apache-2.0

/// The granules of a region that are in use, one bit each; the lowest free ones are claimed first.
struct GranuleMap {
    private var used: [UInt64]
    /// All words before this one are full.
    private var lowest = 0

    /// - Parameter count: a multiple of 64.
    init(count: Int) { used = [UInt64](repeating: 0, count: count / 64) }

    var isFull: Bool { lowest == used.count }

    /// Finds and marks adjacent free granules.
    ///
    /// - Returns: the first of them; `nil` if there are not enough.
    mutating func claim(_ count: Int) -> Int? {
        while lowest < used.count, used[lowest] == .max { lowest += 1 }
        return count <= 32 ? claimWithinWord(count) : claimAcrossWords(count)
    }

    mutating func release(_ granules: Range<Int>) {
        for bit in granules { used[bit / 64] &= ~(1 << UInt64(bit % 64)) }
        lowest = min(lowest, granules.lowerBound / 64)
    }

    private mutating func claimWithinWord(_ count: Int) -> Int? {
        for word in lowest..<used.count where used[word] != .max {
            // Every bit at which a free run of that length begins.
            var starts = ~used[word]
            var length = 1
            while length < count {
                let step = min(length, count - length)
                starts &= starts >> UInt64(step)
                length += step
            }
            guard starts != 0 else { continue }
            let first = starts.trailingZeroBitCount
            used[word] |= ((1 << UInt64(count)) - 1) << UInt64(first)
            return word * 64 + first
        }
        return nil
    }

    private mutating func claimAcrossWords(_ count: Int) -> Int? {
        var run = 0
        var bit = lowest * 64
        let end = used.count * 64
        while bit < end {
            if bit % 64 == 0, used[bit / 64] == .max {
                run = 0
                bit += 64
                continue
            }
            run = used[bit / 64] & (1 << UInt64(bit % 64)) == 0 ? run + 1 : 0
            bit += 1
            if run == count {
                for taken in bit - run..<bit { used[taken / 64] |= 1 << UInt64(taken % 64) }
                return bit - run
            }
        }
        return nil
    }
}

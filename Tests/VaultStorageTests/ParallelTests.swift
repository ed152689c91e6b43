// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing

@testable import VaultStorage

struct ParallelTests {
    @Test(arguments: [0, 1, 2, 15, 16, 17, 1000])
    func `the results are in order, each calculated once, beside one other calculation`(count: Int) {
        let calls = Mutex([Int](repeating: 0, count: count))
        var others = 0
        let results = Parallel.map(count, atLeast: 2) { number in
            calls.withLock { $0[number] += 1 }
            return number * number
        } beside: {
            others += 1
        }
        #expect(results == (0..<count).map { $0 * $0 })
        #expect(calls.withLock { $0 } == [Int](repeating: 1, count: count))
        #expect(others == 1)
    }
}

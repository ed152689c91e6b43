// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VaultCrypto

struct GranuleMapTests {
    @Test func `what is claimed is free before, and is nobody else's until it is released`() {
        var generator = SystemRandomNumberGenerator()
        var (map, used, held) = (GranuleMap(count: 256), [Bool](repeating: false, count: 256), [Range<Int>]())
        for _ in 0..<20_000 {
            if held.isEmpty || Bool.random(using: &generator) {
                let count = Int.random(in: 1...(Bool.random() ? 4 : 70), using: &generator)
                guard let first = map.claim(count) else { continue }
                let granules = first..<first + count
                #expect(granules.upperBound <= 256 && granules.allSatisfy { !used[$0] })
                for granule in granules { used[granule] = true }
                held.append(granules)
            } else {
                let granules = held.remove(at: Int.random(in: held.indices, using: &generator))
                map.release(granules)
                for granule in granules { used[granule] = false }
            }
        }
        for granules in held { map.release(granules) }
        #expect(map.claim(256) == 0)
    }

    @Test func `every granule can be claimed, and a full map says so`() {
        var map = GranuleMap(count: 128)
        for granule in 0..<128 { #expect(map.claim(1) == granule) }
        #expect(map.claim(1) == nil && map.isFull)
        map.release(70..<72)
        #expect(!map.isFull && map.claim(3) == nil)
        #expect(map.claim(2) == 70)
    }

    @Test func `neighbours of more than a word are found across words`() {
        var map = GranuleMap(count: 192)
        #expect(map.claim(40) == 0)
        #expect(map.claim(100) == 40)
        #expect(map.claim(60) == nil)
        map.release(0..<40)
        #expect(map.claim(52) == 140)
        #expect(map.claim(40) == 0)
    }
}

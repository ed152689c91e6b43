// SPDX-License-Identifier: Apache-2.0
import CLinux
import CSodium
import Glibc
import Synchronization

/// The memory of all secrets of the process: locked, between inaccessible pages, absent from core dumps and from forked
/// children.
///
/// Each `sodium_malloc` costs 30 µs, and at the usual limit of 8 MiB no more than 2,047 values are locked. Small
/// secrets therefore share a region; a secret of more than ``largestShared`` bytes gets a mapping of its own, which
/// ends at an inaccessible page. A canary after each secret detects a write past its end, as libsodium's does.
enum SecretArena {
    static let largestShared = 32_768
    static let granule = 64
    static let canaryLength = 16

    private static let regionLength = 262_144
    /// Keys are few and small.
    private static let apartLength = 65_536
    private static let pageLength = max(4096, sysconf(Int32(_SC_PAGESIZE)))

    /// A mapping: `[guard page][body][guard page]`.
    @unsafe private struct Region: @unchecked Sendable {
        let body: UnsafeMutableRawPointer
        let length: Int
        let isLocked: Bool
        /// Whether the memory is inaccessible even to the kernel (memfd_secret).
        let isApart: Bool
        /// `nil` for a region with a single secret.
        var granules: GranuleMap?
    }

    @safe private struct State {
        /// In the order of their addresses.
        private var regions: [Region] = unsafe []
        /// The shared regions before this index are full.
        private var firstOpen = 0
        var unlockedBytes = 0
        /// The process that mapped the regions.
        var process = ForkMark.process

        /// The index after the last region that begins at or below an address.
        private func place(of address: UnsafeMutableRawPointer) -> Int {
            var (low, high) = unsafe (0, regions.count)
            while low < high {
                let middle = (low + high) / 2
                if unsafe regions[middle].body <= address { low = middle + 1 } else { high = middle }
            }
            return low
        }

        mutating func insert(_ region: Region) {
            let index = unsafe place(of: region.body)
            unsafe regions.insert(region, at: index)
            firstOpen = min(firstOpen, index)
        }

        /// Claims adjacent granules in an existing shared region.
        mutating func claim(_ granules: Int, apart: Bool) -> UnsafeMutableRawPointer? {
            while unsafe !apart && firstOpen < regions.count,
                unsafe regions[firstOpen].isApart || regions[firstOpen].granules?.isFull ?? true
            {
                firstOpen += 1
            }
            for index in unsafe (apart ? 0 : firstOpen)..<regions.count where unsafe regions[index].isApart == apart {
                if let first = unsafe regions[index].granules?.claim(granules) {
                    return unsafe regions[index].body + first * granule
                }
            }
            return nil
        }

        /// Releases memory.
        ///
        /// - Returns: the region, if it contained only this secret.
        mutating func release(_ base: UnsafeMutableRawPointer, _ length: Int) -> Region? {
            let index = unsafe place(of: base) - 1
            guard index >= 0, unsafe base - regions[index].body < regions[index].length else { return nil }
            guard unsafe regions[index].granules != nil else {
                if index < firstOpen { firstOpen -= 1 }
                return unsafe regions.remove(at: index)
            }
            let first = unsafe (base - regions[index].body) / granule
            unsafe regions[index].granules?.release(first..<first + length / granule)
            firstOpen = min(firstOpen, index)
            return nil
        }
    }

    private static let state = Mutex(State())

    private static let canary: (UInt64, UInt64) = (Sodium.randomWord(), Sodium.randomWord())

    /// The number of bytes in memory that the kernel did not lock.
    static var unlockedBytes: Int { state.withLock { $0.unlockedBytes } }

    /// - Parameter apart: uses memory that no system call can read or write, if available.
    static func allocate(_ count: Int, apart: Bool = false) throws(CryptoError) -> UnsafeMutableRawPointer {
        guard Sodium.ready else { throw .unavailable }
        let needed = (count + canaryLength + granule - 1) / granule * granule
        let base: UnsafeMutableRawPointer? = unsafe state.withLock { state in
            // In a forked child the parent's regions do not exist, and other memory may be at their addresses.
            if state.process != ForkMark.process { state = State() }
            if apart, count <= largestShared, let base = unsafe shared(needed / granule, &state, apart: true) {
                return unsafe base
            }
            return unsafe count > largestShared
                ? single(needed, &state) : shared(needed / granule, &state, apart: false)
        }
        guard let base = unsafe base else { throw .outOfMemory }
        // The slot has room for `count` bytes and the canary.
        unsafe sodium_memzero(base, needed)
        unsafe (base + count).storeBytes(of: canary.0, as: UInt64.self)
        unsafe (base + count + 8).storeBytes(of: canary.1, as: UInt64.self)
        return unsafe base
    }

    /// - Parameter process: that made the secret. In its children there is nothing to release.
    static func release(_ base: UnsafeMutableRawPointer, count: Int, process: UInt64) {
        guard process == ForkMark.process else { return }
        let (low, high) = unsafe (
            (base + count).loadUnaligned(as: UInt64.self), (base + count + 8).loadUnaligned(as: UInt64.self)
        )
        // Memory is corrupt, and continuing would use it.
        guard low == canary.0, high == canary.1 else { fatalError("a secret was written past its end") }
        let length = (count + canaryLength + granule - 1) / granule * granule
        unsafe sodium_memzero(base, length)
        state.withLock { state in
            if let alone = unsafe state.release(base, length) { unsafe unmap(alone, &state) }
        }
    }

    private static func shared(_ granules: Int, _ state: inout State, apart: Bool) -> UnsafeMutableRawPointer? {
        if let base = unsafe state.claim(granules, apart: apart) { return unsafe base }
        let length = apart ? apartLength : regionLength
        guard var region = unsafe apart ? mapApart(length) : map(length, &state) else { return nil }
        var free = GranuleMap(count: length / granule)
        _ = free.claim(granules)
        unsafe region.granules = free
        unsafe state.insert(region)
        return unsafe region.body
    }

    private static func single(_ length: Int, _ state: inout State) -> UnsafeMutableRawPointer? {
        let body = (length + pageLength - 1) / pageLength * pageLength
        guard let region = unsafe map(body, &state) else { return nil }
        unsafe state.insert(region)
        return unsafe region.body + (body - length)
    }

    private static func map(_ length: Int, _ state: inout State) -> Region? {
        // A mapping of whole pages with one more page at each end, which is made inaccessible.
        guard let base = unsafe clinux_map(length + 2 * pageLength) else { return nil }
        let body = unsafe base + pageLength
        let results = unsafe [
            clinux_forbid_access(base, pageLength), clinux_forbid_access(body + length, pageLength),
            clinux_exclude_from_dumps(body, length), clinux_exclude_from_forks(body, length), Int(mlock(body, length)),
        ]
        let isLocked = results.allSatisfy { $0 == 0 }
        if !isLocked { state.unlockedBytes += length }
        return unsafe Region(body: body, length: length, isLocked: isLocked, isApart: false)
    }

    /// Returns `nil` if the kernel has no such memory, or no more of it.
    private static func mapApart(_ length: Int) -> Region? {
        guard let base = unsafe clinux_map(length + 2 * pageLength) else { return nil }
        let body = unsafe base + pageLength
        // The secret memory replaces the middle of the mapping.
        let results = unsafe [
            clinux_forbid_access(base, length + 2 * pageLength), clinux_map_secret(body, length),
            clinux_exclude_from_forks(body, length),
        ]
        guard results.allSatisfy({ $0 == 0 }) else {
            unsafe munmap(base, length + 2 * pageLength)
            return nil
        }
        return unsafe Region(body: body, length: length, isLocked: true, isApart: true)
    }

    private static func unmap(_ region: Region, _ state: inout State) {
        if unsafe !region.isLocked { unsafe state.unlockedBytes -= region.length }
        unsafe munmap(region.body - pageLength, region.length + 2 * pageLength)
    }
}

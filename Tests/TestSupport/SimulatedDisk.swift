// SPDX-License-Identifier: Apache-2.0
package import Synchronization
package import SystemPackage
package import VaultStorage

/// A file system in memory that separates the disk from the page cache, so that a test can simulate a power cut.
///
/// After a power cut any subset of the un-synced 512-byte sectors is on the disk, the size is any value between the old
/// and the new size, holes read as zeros, and a rename in an un-synced directory has happened or has not.
package final class SimulatedDisk: VaultFileSystem {
    package static let sector = 512

    /// The next part of an operation, as passed to the judge.
    package enum Step: Hashable, Sendable {
        case read, write, truncate, reserve, dataSync, fileSync, directorySync, install, create, lock
    }

    /// The outcome of an operation.
    package enum Fate: Sendable {
        case done
        case fails(Errno)
        /// The process dies during the operation; a write completes only partially.
        case killed
        /// A write changes the last of its bytes.
        case spoils
    }

    /// Symbolic links at any position in a path: the given path and its target.
    package let links = Mutex<[FilePath: FilePath]>([:])

    package final class Inode: Sendable {
        struct State {
            /// The content that survives a power cut, without the dirty sectors.
            var disk: [UInt8] = []
            var cache: [UInt8] = []
            var dirty: Set<Int> = []
            /// The smallest size since the last sync, if the file was truncated.
            var lowest: Int?
            var holders: [ObjectIdentifier: Bool] = [:]
            var links = 1
        }

        let number: UInt64
        let isDirectory: Bool
        let state: Mutex<State>

        init(_ number: UInt64, _ state: State = State(), isDirectory: Bool = false) {
            self.number = number
            self.isDirectory = isDirectory
            self.state = Mutex(state)
        }

        package var bytes: [UInt8] { state.withLock { $0.cache } }

        /// Changes a byte on the disk alone; the cache still counts the sector as clean.
        package func spoilOnDisk(_ offset: Int) { state.withLock { $0.disk[offset] ^= 1 } }

        /// Replaces the content in the cache and on the disk.
        package func overwrite(_ bytes: [UInt8]) {
            state.withLock { state in
                state.disk = bytes
                state.cache = bytes
                state.dirty = []
                state.lowest = nil
            }
        }
    }

    struct State {
        /// Inodes by name; a file in a directory is `directory/file`.
        var names: [String: Inode] = [:]
        /// The names that a power cut falls back to: each directory as last synced.
        var durableNames: [String: Inode] = [:]
        var nextInode: UInt64 = 1
        var isDead = false
        var lies: Set<Step> = []

        mutating func makeInode(isDirectory: Bool = false) -> Inode {
            defer { nextInode += 1 }
            return Inode(nextInode, isDirectory: isDirectory)
        }
    }

    let state = Mutex(State())
    /// Called before each operation to decide its fate; the test that sets the judge counts the steps.
    package let judge: Mutex<(@Sendable (Step) -> Fate)?>
    package let root = FilePath("/disk")
    /// Whether a write may be partial, as the kernel allows.
    private let tearsWrites: Bool
    /// Whether a temporary file has a name before its installation.
    let namesTemporaries: Bool
    private let read = Atomic(0)

    package init(availableMemory: UInt64? = nil, tearsWrites: Bool = true, namesTemporaries: Bool = false) {
        judge = Mutex(nil)
        self.availableMemory = availableMemory
        self.tearsWrites = tearsWrites
        self.namesTemporaries = namesTemporaries
    }

    private init(_ names: [String: Inode], next: UInt64, namesTemporaries: Bool) {
        judge = Mutex(nil)
        availableMemory = nil
        tearsWrites = true
        self.namesTemporaries = namesTemporaries
        state.withLock { state in
            state.names = names
            state.durableNames = names
            state.nextInode = next
        }
    }

    /// The number of bytes read from files so far.
    package var bytesRead: Int { read.load(ordering: .relaxed) }

    func noteRead(_ count: Int) { read.add(count, ordering: .relaxed) }

    func tearsWrite(_ random: SeededRandom) -> Bool { tearsWrites && random.chance(20) }

    /// Whether a process was killed and `bury()` has not been called yet.
    package var isDead: Bool { state.withLock { $0.isDead } }

    package func inode(_ name: String) -> Inode? { state.withLock { $0.names[name] } }

    /// Adds a file whose content and name are durable.
    package func put(_ bytes: [UInt8], as name: String) {
        state.withLock { state in
            let inode = Inode(state.nextInode)
            inode.overwrite(bytes)
            state.nextInode += 1
            state.names[name] = inode
            state.durableNames[name] = inode
        }
    }

    /// Makes these syncs report success without effect: a control that every durability test must detect.
    package func lie(about steps: Set<Step>) { state.withLock { $0.lies = steps } }

    func lies(about step: Step) -> Bool { state.withLock { $0.lies.contains(step) } }

    /// Whether a power cut could lose any state.
    package var hasUnsyncedState: Bool {
        state.withLock { state in
            state.names.values.contains { inode in inode.state.withLock { $0.isUnsynced } } || !hasSameNames(state)
        }
    }

    /// Returns a disk as a power cut at this moment could leave it.
    package func afterPowerCut(_ random: SeededRandom) -> SimulatedDisk {
        state.withLock { state in
            remains(of: namesAfterPowerCut(state, random), state) { $0.cut(random) }
        }
    }

    /// Decides for each changed name in a directory whether the change survived; top-level names survive together.
    private func namesAfterPowerCut(_ state: State, _ random: SeededRandom) -> [String: Inode] {
        let topIsNew = random.chance(50)
        var names: [String: Inode] = [:]
        for name in Set(state.names.keys).union(state.durableNames.keys).sorted() {
            let (old, new) = (state.durableNames[name], state.names[name])
            let directory = name.split(separator: "/").dropLast().joined(separator: "/")
            // The files of a lost directory are lost; directories sort before their files.
            guard directory.isEmpty || names[directory] != nil else { continue }
            let isNew = directory.isEmpty ? topIsNew : old !== new && random.chance(50)
            names[name] = isNew ? new : old
        }
        return names
    }

    /// Returns every disk that a power cut at this moment could leave (each subset of the un-synced sectors in each
    /// size) if there are at most `limit`; otherwise a sample.
    package func powerCuts(atMost limit: Int, else sample: Int, _ random: SeededRandom) -> [SimulatedDisk] {
        let all: [SimulatedDisk]? = state.withLock { state in
            guard hasSameNames(state) || !state.names.keys.contains(where: { $0.contains("/") }) else { return nil }
            let views = hasSameNames(state) ? [state.names] : [state.names, state.durableNames]
            var disks: [SimulatedDisk] = []
            for names in views {
                let unsynced = names.filter { $0.value.state.withLock { $0.isUnsynced } }
                // With several un-synced files a sample is sufficient.
                guard unsynced.count <= 1 else { return nil }
                let contents = unsynced.first.map { $0.value.state.withLock { $0.cuts(atMost: limit) } } ?? [[]]
                guard let contents, disks.count + contents.count <= limit else { return nil }
                for content in contents {
                    disks.append(remains(of: names, state) { $0.isUnsynced ? content : $0.cache })
                }
            }
            return disks
        }
        return all ?? (0..<sample).map { _ in afterPowerCut(random) }
    }

    private func remains(of names: [String: Inode], _ state: State, _ content: (Inode.State) -> [UInt8])
        -> SimulatedDisk
    {
        let survivors = names.mapValues { inode in
            inode.state.withLock {
                Inode(inode.number, Inode.State(durable: content($0)), isDirectory: inode.isDirectory)
            }
        }
        let copy = SimulatedDisk(survivors, next: state.nextInode, namesTemporaries: namesTemporaries)
        copy.lie(about: state.lies)
        return copy
    }

    private func hasSameNames(_ state: State) -> Bool {
        state.names.count == state.durableNames.count
            && state.names.allSatisfy { $0.value === state.durableNames[$0.key] }
    }

    /// Ends a killed process: its locks are released, and other processes continue.
    package func bury() {
        state.withLock { state in
            state.isDead = false
            for inode in state.names.values { inode.state.withLock { $0.holders = [:] } }
        }
    }

    /// Simulates memory pressure: some clean sectors are read from the disk again.
    package func forgetCleanSectors(_ random: SeededRandom) {
        for inode in state.withLock({ Array($0.names.values) }) {
            inode.state.withLock { state in
                guard state.lowest == nil else { return }
                for start in stride(from: 0, to: state.cache.count, by: SimulatedDisk.sector) where random.chance(50) {
                    guard !state.dirty.contains(start / SimulatedDisk.sector) else { continue }
                    for index in start..<min(start + SimulatedDisk.sector, state.cache.count) {
                        state.cache[index] = index < state.disk.count ? state.disk[index] : 0
                    }
                }
            }
        }
    }

    /// Makes background writeback fail while no process is alive to see the error.
    package func failBackgroundWriting(_ random: SeededRandom) {
        for inode in state.withLock({ Array($0.names.values) }) { lose(inode, random) }
    }

    /// Handles dirty sectors after a failed sync: written, or marked clean without being written, or still dirty.
    func lose(_ inode: Inode, _ random: SeededRandom) {
        inode.state.withLock { state in
            for sector in state.dirty.sorted() {
                let fate = random.number(in: 0...9)
                if fate < 4 { state.store(sector) }
                if fate < 8 { state.dirty.remove(sector) }
            }
        }
    }

    func decide(_ step: Step) -> Fate {
        if state.withLock({ $0.isDead }) { return .fails(.ioError) }
        let fate = judge.withLock { $0 }?(step) ?? .done
        if case .killed = fate { state.withLock { $0.isDead = true } }
        return fate
    }

    /// Returns if the operation may happen; otherwise throws its error.
    func pass(_ step: Step) throws(Errno) {
        switch decide(step) {
        case .done, .spoils: return
        case .fails(let errno): throw errno
        case .killed: throw .ioError
        }
    }

    // MARK: VaultFileSystem

    package func resolve(_ path: FilePath) throws(Errno) -> FilePath { links.withLock { $0[path] } ?? path }

    package func workingDirectory() throws(Errno) -> FilePath { "/" }

    package func createDirectories(_ path: FilePath) throws(Errno) {}

    package func openDirectory(_ path: FilePath) throws(Errno) -> any VaultDirectory { SimulatedDirectory(self, path) }

    package let user: UInt32 = 1000

    package func isPrivateGroup(_ group: UInt32) -> Bool { true }

    package let fileSizeLimit = Int.max

    package let availableMemory: UInt64?
}

extension SimulatedDisk.Inode.State {
    init(durable bytes: [UInt8]) {
        disk = bytes
        cache = bytes
    }

    mutating func write(_ bytes: Span<UInt8>, at offset: Int) {
        guard bytes.count > 0 else { return }
        cache.copy(bytes, to: offset)
        dirty.formUnion(offset / SimulatedDisk.sector...(offset + bytes.count - 1) / SimulatedDisk.sector)
    }

    mutating func truncate(to size: Int) {
        if size < cache.count {
            cache.removeLast(cache.count - size)
        } else {
            cache.grow(to: size)
        }
        dirty = dirty.filter { $0 * SimulatedDisk.sector < size }
        dirty.insert(size / SimulatedDisk.sector)
        lowest = min(size, lowest ?? size)
    }

    /// Writes the dirty sectors. A sector that counts as clean keeps its content on the disk, even if never written.
    mutating func synchronize() {
        if let lowest, lowest < disk.count { disk.removeLast(disk.count - lowest) }
        for sector in dirty { store(sector) }
        if disk.count > cache.count {
            disk.removeLast(disk.count - cache.count)
        } else {
            disk.grow(to: cache.count)
        }
        dirty = []
        lowest = nil
    }

    mutating func store(_ sector: Int) { SimulatedDisk.Inode.State.store(sector, of: cache, in: &disk) }

    private static func store(_ sector: Int, of cache: [UInt8], in disk: inout [UInt8]) {
        let start = sector * SimulatedDisk.sector
        let end = min(start + SimulatedDisk.sector, cache.count)
        guard start < end else { return }
        disk.copy(cache.span.extracting(start..<end), to: start)
    }

    var isUnsynced: Bool { !dirty.isEmpty || cache.count != disk.count }

    /// Returns every content that a power cut could leave, with one size between the old and the new; `nil` if there
    /// are more than `limit`.
    func cuts(atMost limit: Int) -> [[UInt8]]? {
        let sectors = dirty.sorted()
        guard lowest == nil, sectors.count < 10 else { return nil }
        let sizes = Set([disk.count, (disk.count + cache.count) / 2, cache.count])
        guard sizes.count << sectors.count <= limit else { return nil }
        return (0..<1 << sectors.count).flatMap { subset in
            sizes.map { size in
                var result = disk
                for (index, sector) in sectors.enumerated() where subset >> index & 1 == 1 {
                    SimulatedDisk.Inode.State.store(sector, of: cache, in: &result)
                }
                return result.count >= size
                    ? Array(result[..<size]) : result + [UInt8](repeating: 0, count: size - result.count)
            }
        }
    }

    /// Returns a random content that a power cut could leave.
    func cut(_ random: SeededRandom) -> [UInt8] {
        var result = disk
        if let lowest, random.chance(50), lowest < result.count { result.removeLast(result.count - lowest) }
        let share = random.element(of: [0, 10, 50, 50, 90, 100])
        for sector in dirty.sorted() where random.chance(share) {
            SimulatedDisk.Inode.State.store(sector, of: cache, in: &result)
        }
        let sizes = [disk.count, cache.count, lowest ?? cache.count].sorted()
        let size = random.chance(50) ? random.element(of: sizes) : random.number(in: sizes[0]...sizes[2])
        if size < result.count {
            result.removeLast(result.count - size)
        } else {
            result.grow(to: size)
        }
        return result
    }
}

// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import VaultStorage
import VaultSystem

/// A file system in memory whose directories fail on request.
final class FaultyFileSystem: VaultFileSystem {
    private let memory = MemoryFileSystem()
    /// Called before each use of a directory; returns the error to fail with.
    private let judge = Mutex<(@Sendable (FilePath) -> Errno?)?>(nil)

    /// Makes every use below a path fail, from the use with that number on.
    ///
    /// - Returns: A closure that returns the number of uses so far.
    func fail(from number: Int, below path: FilePath = "/", _ errno: Errno = .noSpace) -> @Sendable () -> Int {
        let count = Counter()
        judge.withLock { judge in
            judge = { used in
                guard used.starts(with: path) else { return nil }
                return count.next() >= number ? errno : nil
            }
        }
        return { count.value }
    }

    /// Hides a folder.
    func hide(_ path: FilePath) {
        judge.withLock { $0 = { $0.starts(with: path) ? .noSuchFileOrDirectory : nil } }
    }

    func heal() { judge.withLock { $0 = nil } }

    fileprivate func check(_ path: FilePath) throws(Errno) {
        if let errno = judge.withLock({ $0 })?(path) { throw errno }
    }

    func resolve(_ path: FilePath) throws(Errno) -> FilePath { try memory.resolve(path) }
    func workingDirectory() throws(Errno) -> FilePath { try memory.workingDirectory() }
    func createDirectories(_ path: FilePath) throws(Errno) {
        try check(path)
        try memory.createDirectories(path)
    }
    func openDirectory(_ path: FilePath) throws(Errno) -> any VaultDirectory {
        try check(path)
        return FaultyDirectory(try memory.openDirectory(path), self)
    }
    var user: UInt32 { memory.user }
    func isPrivateGroup(_ group: UInt32) -> Bool { memory.isPrivateGroup(group) }
    var fileSizeLimit: Int { memory.fileSizeLimit }
    var availableMemory: UInt64? { memory.availableMemory }
}

private final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Returns the next number, from 1.
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

private final class FaultyDirectory: VaultDirectory {
    private let inner: any VaultDirectory
    private let disk: FaultyFileSystem

    init(_ inner: any VaultDirectory, _ disk: FaultyFileSystem) { (self.inner, self.disk) = (inner, disk) }

    var path: FilePath { inner.path }
    var weakFileSystem: String? { inner.weakFileSystem }

    private func checked() throws(Errno) -> any VaultDirectory {
        try disk.check(path)
        return inner
    }

    func status() throws(Errno) -> FileStatus { try checked().status() }
    func status(of name: String) throws(Errno) -> FileStatus? { try checked().status(of: name) }
    func open(_ name: String, writable: Bool) throws(Errno) -> any VaultFile {
        try checked().open(name, writable: writable)
    }
    func openOrCreate(_ name: String) throws(Errno) -> any VaultFile { try checked().openOrCreate(name) }
    func createTemporary(_ name: String) throws(Errno) -> any VaultFile { try checked().createTemporary(name) }
    func install(_ file: any VaultFile, temporaryName: String, as name: String, replacing: Bool) throws(Errno) {
        try checked().install(file, temporaryName: temporaryName, as: name, replacing: replacing)
    }
    func remove(_ name: String) throws(Errno) { try checked().remove(name) }
    func forEachName(_ body: (String) throws(Errno) -> Void) throws(Errno) { try checked().forEachName(body) }
    func directory(_ name: String) throws(Errno) -> any VaultDirectory {
        FaultyDirectory(try checked().directory(name), disk)
    }
    func createDirectory(_ name: String) throws(Errno) { try checked().createDirectory(name) }
    func synchronize() throws(Errno) { try checked().synchronize() }
}

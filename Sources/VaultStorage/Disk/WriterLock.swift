// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultSystem

/// The lock between processes, on a side file that is created once and never unlinked or renamed.
///
/// A lock on the vault file itself would allow two holders after a rename: one on each inode.
final class WriterLock {
    static let patience = Duration.seconds(30)

    private let location: VaultLocation
    private let clock: any VaultClock
    var patience: Duration
    private var file: (any VaultFile)?
    /// The identity of the open file, which does not change.
    private var identity: FileStatus?

    init(_ location: VaultLocation, clock: any VaultClock, patience: Duration) {
        self.location = location
        self.clock = clock
        self.patience = patience
    }

    /// Runs the body with the lock for writing.
    ///
    /// - Parameter patience: how long to wait for another writer; `nil` for the lock's default.
    /// - Throws: `.busy`.
    func holding<R: ~Copyable>(patience: Duration? = nil, _ body: () throws(StorageError) -> R) throws(StorageError)
        -> R
    {
        try wait(patience ?? self.patience) { () throws(StorageError) in
            let file = try self.opened(creating: true)
            return try attempt(.lock, file.tryLock(exclusive: true))
        }
        defer { unlock() }
        return try body()
    }

    /// Runs the body while no other process can write.
    func keepingWritersOut<R: ~Copyable>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
        let isLocked = try lockShared()
        defer { if isLocked { unlock() } }
        return try body()
    }

    /// Takes the lock for reading. Returns `false` if there can be no writer: the directory accepts no files and has no
    /// lock file.
    private func lockShared() throws(StorageError) -> Bool {
        do throws(StorageError) { _ = try opened(creating: true) } catch {
            guard case .inputOutput = error else { throw error }
            do throws(StorageError) { _ = try opened(creating: false) } catch { return false }
        }
        try wait(patience) { () throws(StorageError) in
            let file = try self.opened(creating: false)
            return try attempt(.lock, file.tryLock(exclusive: false))
        }
        return true
    }

    /// Releases the lock by closing the file if necessary: a lock that remained would block the next handle, even in
    /// this process.
    private func unlock() { if file?.unlock() == false { file = nil } }

    private func wait(_ patience: Duration, _ tryOnce: () throws(StorageError) -> Bool) throws(StorageError) {
        let start = clock.uptime
        var pause = Duration.microseconds(200)
        while true {
            if try tryOnce() {
                do throws(StorageError) {
                    if try isCurrent() { return }
                } catch {
                    unlock()
                    throw error
                }
                // Another program removed the side file, so other processes lock a different file.
                file = nil
                continue
            }
            guard clock.uptime - start < patience else { throw .busy }
            clock.sleep(for: pause)
            pause = min(pause * 3 / 2, .milliseconds(8))
        }
    }

    private func opened(creating: Bool) throws(StorageError) -> any VaultFile {
        if let file { return file }
        let made: any VaultFile
        do throws(Errno) {
            made =
                creating
                ? try location.directory.openOrCreate(location.lockName)
                : try location.directory.open(location.lockName, writable: false)
        } catch {
            // A file can be created in every directory except one that was removed.
            throw creating && error == .noSuchFileOrDirectory ? .noVault : .inputOutput(error, .lock)
        }
        let status = try attempt(.lock, made.status())
        guard status.kind == .regular else { throw .refused(.notARegularFile) }
        guard status.owner == location.fileSystem.user else { throw .refused(.foreignOwner) }
        file = made
        identity = status
        return made
    }

    private func isCurrent() throws(StorageError) -> Bool {
        guard let identity,
            let named = try attempt(.lock, location.directory.status(of: location.lockName))
        else { return false }
        return named.isSameFile(as: identity)
    }
}

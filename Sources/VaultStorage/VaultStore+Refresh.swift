// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto

// How a handle looks at what other processes have made of the file.

extension VaultStore {
    /// Catches up with what other processes wrote, without a lock.
    public func refresh() throws(StorageError) {
        try check()
        do throws(StorageError) { try catchUpWithoutLock() } catch {
            // A file that is behind is behind something, which is written down before anybody hears of it.
            if error.isOfAnotherFile { rememberNewest() }
            throw error
        }
    }

    private func catchUpWithoutLock() throws(StorageError) {
        let named = try namedFile()
        if named.isSameFile(as: identity), named.size == sizeSeen, try isInPlace(tip) { return }
        try reading { () throws(StorageError) in
            let named = try self.namedFile()
            if named.isSameFile(as: self.identity), try self.isInPlace(self.tip) { return try self.follow() }
            if try self.takeOver(named) { try self.follow() } else { try self.reopen() }
        }
    }

    /// - Throws: `.noVault` when the path names nothing.
    func namedFile() throws(StorageError) -> FileStatus {
        guard let named = try attempt(.open, { () throws(Errno) in try location.directory.status(of: location.name) }) else {
            throw .noVault
        }
        return named
    }

    /// Runs a read that a writer may disturb; an error is only believed when it comes again with all writers kept out.
    private func reading(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        do throws(StorageError) { return try body() } catch {
            switch error {
            case .damaged, .unsupported, .rekeyed, .rolledBack: break
            default: throw error
            }
        }
        try withWritersKeptOut { () throws(StorageError) in try reopen() }
    }

    func withWritersKeptOut<R: ~Copyable>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
        let isLocked = try lock.lockShared()
        defer { if isLocked { lock.unlock() } }
        return try body()
    }

    /// Whether the commit's chain tag still lies where it did, and so all that it covers. No commit is always where it was.
    func isInPlace(_ commit: Commit?) throws(StorageError) -> Bool {
        guard let commit, commit.tagOffset > 0 else { return true }
        let bytes = try attempt(.read) { () throws(Errno) in try file.read(32, at: commit.tagOffset) }
        return isEqualInConstantTime(bytes.span, commit.position.tag.bytes.span)
    }
}

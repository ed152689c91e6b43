// SPDX-License-Identifier: Apache-2.0
internal import VaultSystem

extension VaultStore {
    /// Runs the body with the writer lock, after reading everything that others have written.
    ///
    /// - Parameter repairing: whether that is made durable first, since the body builds on it.
    func withWriterLock<R: ~Copyable>(
        repairing: Bool = false, _ body: () throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try checkWritable()
        return try lock.holding { () throws(StorageError) in
            try catchUp(repairing: repairing)
            return try body()
        }
    }

    /// Under the writer lock: reads the writes of others.
    ///
    /// - Parameter repairing: whether they are made durable too, since the caller builds on them.
    func catchUp(repairing: Bool) throws(StorageError) {
        do throws(StorageError) {
            let named = try namedFile()
            let isOwn = try log.isNamed(named) ? log.isUnbroken() : false
            // With writers excluded, following the file from the start is decisive.
            do throws(StorageError) {
                let isFollowed = isOwn ? true : try takeOver(named)
                if isFollowed { try follow(knownSize: named.size) } else { try reopen() }
            } catch { try reopen() }
            if repairing { try repair() }
        } catch {
            // If the file is behind, the newest known state is recorded before the error is thrown.
            if error.isOfAnotherFile { writeNewest() }
            throw error
        }
    }

    private func repair() throws(StorageError) {
        while true {
            let repaired = try log.repair(in: location.directory)
            noteDurable()
            switch repaired {
            case .ready(let cutOff): return discardedBytes += cutOff
            case .isOther: try reopen()
            }
        }
    }

    /// Runs transactions under the writer lock and makes all of them durable with one sync.
    ///
    /// After `body` returns, its transactions are durable; if this throws, none of them remains.
    package func write(_ body: (inout WriteSession) -> Void) throws(StorageError) {
        try withWriterLock(repairing: true) { () throws(StorageError) in
            isWriting = true
            defer {
                isWriting = false
                unwritten.removeAll(keepingCapacity: unwritten.capacity <= 64)
            }
            var session = WriteSession(self)
            body(&session)
            try session.commit()
        }
    }

    /// Makes both marks name the last commit, so that any truncation is detected; called when no more changes follow.
    ///
    /// - Parameter patience: how long to wait for another writer; `nil` for as long as a commit would.
    package func settleMarks(patience: Duration? = nil) throws(StorageError) {
        guard owesMarks else { return }
        try check()
        try lock.holding(patience: patience) { () throws(StorageError) in
            try catchUp(repairing: true)
            try log.settleMarks()
            owesMarks = false
            moveAnchors(to: tip.position)
        }
    }
}

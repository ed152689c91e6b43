// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
public import VaultCrypto
public import VaultFormat

/// What a value of an operation becomes.
public enum ValueChange {
    /// There is none.
    case none
    /// Point at the box that is there.
    case keep
    /// Seal these bytes.
    case set(Secret)
}

/// Transactions that are being put together: their operations are in the table already, and can be taken back.
final class Draft {
    var builder: FrameBuilder
    var open: [FrameBuilder.Pending] = []
    var places: [Int?] = []
    var undo: [Step] = []
    /// How much of `undo` belongs to transactions that are complete.
    var completeUndo = 0
    var deletesOnly = true
    var transactions = 0
    var nextIndex: UInt64 = 0
    /// Values that are not in the file yet, by the version at which they were sealed.
    var boxes: [VersionKey: [UInt8]] = [:]

    init(_ builder: FrameBuilder) { self.builder = builder }

    /// What takes one operation back.
    struct Step {
        var undo: RecordTable.Undo
        var sealed: VersionKey
        var nextIndex: UInt64
        var deletesOnly: Bool
    }
}

extension VaultStore {
    /// How much disk space is kept ready behind the end, so that a delete works on a full disk.
    static let reserve = 65_536

    /// Runs transactions under the writer lock and makes all of them durable with one sync.
    ///
    /// `body` calls ``transaction(_:)`` for each. When it returns, the commits are durable; when this throws, nothing of them remains.
    public func write(_ body: () -> Void) throws(StorageError) {
        try check()
        try checkWritable()
        try lock.lock()
        defer { lock.unlock() }
        try catchUp(repairing: true)
        let draft = Draft(FrameBuilder(after: tip.position, generation: header.generation))
        self.draft = draft
        body()
        self.draft = nil
        if draft.transactions > 0 { try flush(draft) }
    }

    /// One transaction: all of what `body` stages, or nothing when it throws.
    public func transaction<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        let result: R
        do throws(E) { result = try body() } catch {
            takeBack(to: draft?.completeUndo ?? 0)
            throw error
        }
        closeTransaction()
        return result
    }

    /// A part of the open transaction that leaves nothing when it throws, although the transaction may go on.
    public func step<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        let count = draft?.undo.count ?? 0
        do throws(E) { return try body() } catch {
            takeBack(to: count)
            throw error
        }
    }

    /// The ordinal of the next item to be created, from the sequence number and the index of its operation.
    public var nextOrdinal: UInt64 {
        guard let draft else { return 0 }
        return (draft.builder.position.sequence + 1) << 16 &+ draft.nextIndex
    }

    /// The device identifier that items of this device only carry; made now if this device has no secret for the vault yet.
    public func deviceIdentifier() throws(StorageError) -> [16 of UInt8] {
        if let device { return device.identifier }
        let made = try DeviceSecret.create(
            vaultID: header.vaultID, identification: keys.deviceIdentification, in: environment.stateDirectory,
            on: environment.fileSystem, random: environment.random)
        device = made
        return made.identifier
    }

    public func makeItemID() -> ItemID { ItemID(random: environment.random.bytes(16)) }

    /// Stages an operation of the open transaction; the table shows it at once.
    ///
    /// - Returns: the operation with what became of its value.
    /// - Throws: `.locked`, `.valueTooLarge`, `.attributesTooLarge`, `.outsideTransaction`.
    @discardableResult
    public func stage(_ operation: Operation, value: ValueChange) throws(StorageError) -> Operation {
        guard let draft else { throw .outsideTransaction }
        var operation = operation
        guard operation.attributes.bytes.count <= Layout.attributesLimit else { throw .attributesTooLarge }
        var box: [UInt8] = []
        switch value {
        case .none:
            operation.value = nil
            operation.valueVersion = 0
        case .keep: break
        case .set(let secret):
            guard secret.count <= Layout.valueLimit else { throw .valueTooLarge }
            operation.valueVersion = operation.version
            box = try seal(secret, operation, keys)
            operation.value = .unplaced(box)
        }
        let encoded = operation.encoded()
        let undo = records.stage(encoded.span)
        if let place = undo.place { observer?.record(at: place, changedFrom: undo.old, to: operation.kind == .put ? operation : nil) }
        draft.undo.append(
            Draft.Step(undo: undo, sealed: VersionKey(operation), nextIndex: draft.nextIndex, deletesOnly: draft.deletesOnly))
        if !box.isEmpty { draft.boxes[VersionKey(operation)] = box }
        // What is kept of an item that is deleted goes with the delete.
        if operation.kind == .put { draft.deletesOnly = false }
        draft.open.append(FrameBuilder.Pending(operation: encoded, box: box))
        draft.places.append(undo.place)
        draft.nextIndex += 1
        return operation
    }

    /// - Returns: nonce and box.
    func seal(_ secret: Secret, _ operation: Operation, _ keys: borrowing VaultKeys) throws(StorageError) -> [UInt8] {
        let key = try keys.itemKey(operation.id, version: operation.version, protection: operation.protection, device: device)
        let length = Padding.length(for: secret.count, minimum: Layout.valueMinimum)
        var padded: SecretBytes
        do throws(CryptoError) { padded = try SecretBytes(zeroed: length) } catch { throw StorageError(error) }
        var prefix: [UInt8] = []
        prefix.append(integer: UInt32(secret.count))
        padded.replace(at: 0, with: prefix.span)
        secret.withBytes { padded.replace(at: 4, with: $0) }
        var box = environment.random.bytes(Layout.nonceLength)
        let nonce = box
        padded.withBytes { SecretBox.seal($0, nonce: nonce.span, key: key, appendingTo: &box) }
        return box
    }

    private func closeTransaction() {
        guard let draft, !draft.open.isEmpty else { return }
        let places = draft.places
        draft.builder.append(draft.open, keys: generationKeys, random: environment.random) { index, offset in
            if let place = places[index] { return records.setOffset(offset, at: place) }
            let operation = draft.open[index].operation
            let version = VersionKey(Operation(checked: operation.span))
            records.setPastOffset(offset, of: version.id, version: version.version)
        }
        draft.open = []
        draft.places = []
        draft.completeUndo = draft.undo.count
        draft.transactions += 1
        draft.nextIndex = 0
    }

    /// Takes operations of the open transaction back until so many are left, those of complete transactions included.
    private func takeBack(to count: Int) {
        guard let draft else { return }
        while draft.undo.count > count {
            let step = draft.undo.removeLast()
            takeBack(step)
            // An older version that is kept has a box of the version itself, which stays.
            if !step.undo.isPast { draft.boxes[step.sealed] = nil }
            draft.nextIndex = step.nextIndex
            draft.deletesOnly = step.deletesOnly
            draft.open.removeLast()
            draft.places.removeLast()
        }
    }

    private func takeBack(_ step: Draft.Step) {
        let current = step.undo.place.flatMap { records[$0] }
        records.revert(step.undo)
        if let place = step.undo.place { observer?.record(at: place, changedFrom: current, to: step.undo.old) }
    }

    /// Nothing of the draft was written: the table forgets all of it.
    private func takeBackAll(of draft: Draft) {
        for step in draft.undo.reversed() { takeBack(step) }
    }

    // MARK: Steps of a commit

    /// Under the writer lock: reads what others wrote and makes sure that it is durable before anything is built on it.
    func catchUp(repairing: Bool) throws(StorageError) {
        do throws(StorageError) { try catchUpWithFile(repairing: repairing) } catch {
            if error.isOfAnotherFile { writeNewest() }
            throw error
        }
    }

    private func catchUpWithFile(repairing: Bool) throws(StorageError) {
        let named = try namedFile()
        if named.isSameFile(as: identity), try isInPlace(base), try isInPlace(unsettled.last) {
            // With writers kept out, a new walk from the start has the last word.
            do throws(StorageError) { try follow(knownSize: named.size) } catch { try reopen() }
        } else if (try? takeOver(named)) == true {
            do throws(StorageError) { try follow(knownSize: named.size) } catch { try reopen() }
        } else {
            try reopen()
        }
        guard repairing else { return }
        if tip.count <= 1, !isNameDurable {
            try synchronizing { () throws(Errno) in try location.directory.synchronize() }
            isNameDurable = true
        }
        if sizeSeen > tip.position.end {
            discardedBytes += sizeSeen - tip.position.end
            try attempt(.truncate) { () throws(Errno) in try file.truncate(to: tip.position.end) }
            try synchronizing { () throws(Errno) in try file.synchronizeData() }
            sizeSeen = tip.position.end
            reservedThrough = 0
        }
        try settleUnsettled()
    }

    /// Writes commits that were only read once more, as read, and syncs them. A failure takes nothing back: their writer, since gone, may have
    /// acknowledged them.
    private func settleUnsettled() throws(StorageError) {
        guard !unsettled.isEmpty else { return }
        let (start, end, tag) = (base.position.end, tip.position.end, tip.position.tag)
        let ignore = { (_: FrameOperations, _: UInt64) throws(StorageError) in }
        // What is checked is what is written: both come from this read.
        let bytes = try attempt(.read) { () throws(Errno) in try file.read(end - start, at: start) }
        let marks = try readMarks()
        guard bytes.count == end - start, let highest = marks.highest else { throw .damaged(.marks) }
        var reader = LogReader(file: file, size: end, generation: header.generation, window: bytes, at: start)
        let found = try reader.walk(from: base, highest: highest, depth: .everything, keys: generationKeys, apply: ignore)
        guard found.last?.position.tag == tag else {
            // It was replaced since it was applied: the table has to forget it.
            try reopen()
            return try settleUnsettled()
        }
        try synchronizing { () throws(Errno) in
            try file.writeAll(marks.newer.span, at: marks.newerOffset)
            try file.writeAll(bytes.span, at: start)
            try file.synchronizeData()
        }
        syncedMark = highest
        settle(through: .max)
    }

    /// A failed sync is never tried again as if nothing had happened: the kernel may count as written what it lost.
    func synchronizing(_ call: () throws(Errno) -> Void) throws(StorageError) {
        do throws(Errno) { try call() } catch {
            isPoisoned = true
            throw .inputOutput(error, .synchronize)
        }
    }

    private func flush(_ draft: Draft) throws(StorageError) {
        let start = tip.position.end
        let end = draft.builder.position.end
        do throws(StorageError) {
            guard end <= environment.fileSystem.fileSizeLimit else { throw .inputOutput(.fileTooLarge, .write) }
            try takeReserve(through: end, isDelete: draft.deletesOnly)
        } catch {
            takeBackAll(of: draft)
            throw error
        }
        var task = FileTask.write
        let marked: LogPosition
        do throws(Errno) {
            marked = try writeMark(naming: base.position, clean: false)
            try file.writeAll(draft.builder.bytes.span, at: start)
            task = .synchronize
            try file.synchronizeData()
        } catch {
            takeBackAll(of: draft)
            try cutBack(to: start, after: error, task)
        }
        let tip = self.tip
        noteDurable(draft.builder.position)
        base = Commit(
            position: draft.builder.position, tagOffset: draft.builder.lastTagOffset, count: tip.count + draft.transactions,
            frames: tip.frames + draft.builder.frames)
        syncedMark = marked
        unsettled = []
        sizeSeen = end
        hasCommitted = true
        isWriter = true
    }

    /// Writes the older mark; or, where the newer one may not be on the disk, that one again as it was read: the writing of a mark can be
    /// interrupted, and the other one must hold then.
    ///
    /// - Returns: what the written mark names once it is synced.
    private func writeMark(naming position: LogPosition, clean: Bool) throws(Errno) -> LogPosition {
        if marksRead == nil { marksRead = try marks() }
        // Until the writing is done nobody knows what is there.
        guard let marks = marksRead.take(), let newest = marks.highest else { throw .ioError }
        guard newest == syncedMark else {
            try file.writeAll(marks.newer.span, at: marks.newerOffset)
            marksRead = marks
            return newest
        }
        let mark = Marks.encode(position, generation: header.generation, clean: clean, keys: generationKeys)
        try file.writeAll(mark.span, at: marks.olderOffset)
        marksRead = marks.replacingOlder(with: mark, naming: position)
        return position
    }

    /// Takes back what a failed commit wrote. Always throws: the commit failed, or nobody knows.
    private func cutBack(to start: Int, after error: Errno, _ task: FileTask) throws(StorageError) -> Never {
        if task == .synchronize { isPoisoned = true }
        reservedThrough = 0
        do throws(Errno) {
            try file.truncate(to: start)
            try file.synchronizeData()
        } catch {
            isPoisoned = true
            throw .indeterminate(error)
        }
        sizeSeen = start
        // Truncation gave the reserve away; without it a delete could fail on the full disk.
        try? takeReserve(through: start, isDelete: false)
        throw .inputOutput(error, task)
    }

    private func takeReserve(through end: Int, isDelete: Bool) throws(StorageError) {
        guard end + VaultStore.reserve > reservedThrough else { return }
        let through = end + 2 * VaultStore.reserve
        let from = tip.position.end
        do throws(Errno) {
            try file.reserve(through - from, at: from)
            reservedThrough = through
        } catch {
            // The file system has no reserves: go without.
            if error == .notSupported {
                reservedThrough = .max
                return
            }
            let isFull = error == .noSpace || error == .diskQuotaExceeded
            // Deletes may use the reserve up.
            if isDelete, isFull { return }
            // The second half is comfort; the first is the promise.
            do throws(Errno) {
                try file.reserve(end + VaultStore.reserve - from, at: from)
                reservedThrough = end + VaultStore.reserve
            } catch {
                throw .inputOutput(error, .reserve)
            }
        }
    }

    /// After a commit, once there is nothing more to do: both marks name the last commit, so that any truncation shows.
    ///
    /// - Parameter patience: how long to wait for another writer; nil for as long as a commit would.
    public func settleMarks(patience: Duration? = nil) throws(StorageError) {
        guard hasCommitted else { return }
        try check()
        try lock.lock(patience: patience)
        defer { lock.unlock() }
        try catchUp(repairing: true)
        try synchronizing { () throws(Errno) in
            for _ in 0..<3 {
                guard try marks()?.found != [tip.position, tip.position] else { break }
                syncedMark = try writeMark(naming: tip.position, clean: true)
                try file.synchronizeData()
            }
        }
        hasCommitted = false
        moveAnchors(to: tip.position)
    }
}

extension ValueLocation {
    /// Of a box whose place in the file is not known yet.
    static func unplaced(_ box: [UInt8]) -> ValueLocation {
        ValueLocation(offset: UInt64(Layout.firstFrame), length: UInt32(box.count), tag: box.span.sixteen(at: Layout.nonceLength))
    }
}

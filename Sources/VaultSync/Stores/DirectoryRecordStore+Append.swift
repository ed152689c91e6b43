// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage
internal import VaultSystem

/// A record gets its name once all of its bytes are on the disk. A stream's folder is synced before the batch goes on
/// to another stream, so that after a power cut no record is there whose predecessors in the batch are lost.
extension DirectoryRecordStore {
    /// A stream's folder in use by one batch.
    private struct OpenStream {
        let stream: RecordStream
        /// The folders from the root down; the last is the stream's own.
        let folders: [any VaultDirectory]
        let folder: any VaultDirectory
        /// The index of the highest folder with a new name that may not be durable.
        let unsettled: Int
    }

    package func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        for record in records { try record.checkBounds() }
        var results: [Appended] = []
        var open: OpenStream?
        for record in records where results.last != .differs {
            let stream: OpenStream
            if let open, open.stream == record.address.stream {
                stream = open
            } else {
                if let open { try settle(open) }
                stream = try makeFolder(of: record.address.stream)
                open = stream
            }
            results.append(try store(record, in: stream))
        }
        if let open { try settle(open) }
        return results
    }

    // MARK: One record

    private func store(_ record: StoredRecord, in open: OpenStream) throws(RecordStoreError) -> Appended {
        let name = RecordName(record.address.sequence)
        var temporary: Temporary?
        // Other writers may interfere, but not for ever.
        for _ in 0..<8 {
            let found = try content(of: name, in: open.folder, of: record.address.stream.kind)
            switch found {
            case .record(let bytes, let file):
                guard bytes == record.bytes else { return .differs }
                // The record's writer may have been killed, or be another program, which need not sync.
                guard isDurable else { return .same }
                try attempt(open.folder.path.appending(name.text)) { () throws(Errno) in try file.synchronize() }
                return .same
            case .other: throw .inputOutput(.fileExists, open.folder.path.appending(name.text).string)
            case .unfinished, nil: break
            }
            let made: Temporary
            if let temporary {
                made = temporary
            } else {
                made = try write(record, in: open)
                temporary = made
            }
            if try place(made, as: name, over: found, in: open) { return .created }
        }
        throw .inputOutput(.fileExists, open.folder.path.appending(name.text).string)
    }

    /// - Returns: `false` if another file has taken the name.
    private func place(
        _ temporary: Temporary, as name: RecordName, over found: Content?, in open: OpenStream
    ) throws(RecordStoreError) -> Bool {
        try attempt(open.folder.path.appending(name.text)) { () throws(Errno) in
            guard case .unfinished = found else { return try temporary.place(as: name.text, replacing: false) }
            // An unfinished file of another program gives way: otherwise a copy that broke off would block the address
            // for ever. The lock protects a record that another writer puts there at the same moment.
            let old = try open.folder.open(name.text, writable: true)
            guard try old.tryLock(exclusive: true), let named = try open.folder.status(of: name.text) else {
                return false
            }
            let status = try old.status()
            guard named.isSameFile(as: status), status.size < open.stream.kind.lengths.lowerBound else { return false }
            return try temporary.place(as: name.text, replacing: true)
        }
    }

    private func write(_ record: StoredRecord, in open: OpenStream) throws(RecordStoreError) -> Temporary {
        let name = RecordName.temporary + hexadecimal(random.bytes(8))
        return try attempt(open.folder.path.appending(name)) { () throws(Errno) in
            let temporary = try Temporary(name, in: open.folder)
            try temporary.file.writeAll(record.bytes.span, at: 0)
            if isDurable { try temporary.file.synchronize() }
            if littered.withLock({ $0.remove(open.stream) }) != nil {
                removeLeftovers(in: open.folder, before: try temporary.file.status().modified - 3600)
            }
            return temporary
        }
    }

    /// - Parameter time: in seconds by the clock of the file system, which may differ from this device's.
    private func removeLeftovers(in folder: any VaultDirectory, before time: Double) {
        // Leftovers only cost space: those that cannot be removed stay.
        try? folder.forEachName { (name) throws(Errno) in
            guard RecordName.isTemporary(name), let status = try? folder.status(of: name), status.kind == .regular,
                status.modified < time
            else { return }
            try? folder.remove(name)
        }
    }

    // MARK: Folders

    /// Opens a stream's folder, and makes the missing folders on the way.
    private func makeFolder(of stream: RecordStream) throws(RecordStoreError) -> OpenStream {
        var folder: any VaultDirectory
        if let root = try openRoot() { folder = root } else { folder = try makeRoot() }
        var folders = [folder]
        var unsettled = settled.withLock { $0.streams.contains(stream) ? 4 : $0.kinds.contains(stream.kind) ? 3 : 0 }
        for (depth, component) in components(of: stream).enumerated() {
            try attempt(folder.path.appending(component)) { () throws(Errno) in
                do throws(Errno) { folder = try folder.directory(component) } catch {
                    guard error == .noSuchFileOrDirectory else { throw error }
                    // Another writer may have made the folder.
                    do throws(Errno) { try folder.createDirectory(component) } catch {
                        if error != .fileExists { throw error }
                    }
                    unsettled = min(unsettled, depth)
                    folder = try folder.directory(component)
                }
            }
            folders.append(folder)
        }
        return OpenStream(stream: stream, folders: folders, folder: folder, unsettled: unsettled)
    }

    /// Syncs every directory that has got a new name.
    private func settle(_ open: OpenStream) throws(RecordStoreError) {
        guard isDurable else { return }
        for folder in open.folders[open.unsettled...].reversed() {
            try attempt(folder.path) { () throws(Errno) in try folder.synchronize() }
        }
        settled.withLock { settled in
            settled.kinds.insert(open.stream.kind)
            // A fleet has few rosters and logs, but in the end any number of streams of the other kinds.
            if open.stream.kind == .roster || open.stream.kind == .log { settled.streams.insert(open.stream) }
        }
    }

    private func makeRoot() throws(RecordStoreError) -> any VaultDirectory {
        var parents: [FilePath] = []
        var path = root
        while (try? fileSystem.openDirectory(path)) == nil, path.removeLastComponent() { parents.append(path) }
        return try attempt(root) { () throws(Errno) in
            try fileSystem.createDirectories(root)
            for parent in parents { try fileSystem.openDirectory(parent).synchronize() }
            return try fileSystem.openDirectory(root)
        }
    }
}

/// A temporary file that becomes a record. Removed with the value unless it was placed.
private final class Temporary {
    let file: any VaultFile
    private let name: String
    private let folder: any VaultDirectory
    private var isPlaced = false

    init(_ name: String, in folder: any VaultDirectory) throws(Errno) {
        file = try folder.createTemporary(name)
        self.name = name
        self.folder = folder
    }

    deinit { if !isPlaced { try? folder.remove(name) } }

    /// - Returns: `false` if the name is taken.
    func place(as name: String, replacing: Bool) throws(Errno) -> Bool {
        do throws(Errno) {
            try folder.install(file, temporaryName: self.name, as: name, replacing: replacing)
        } catch {
            guard error == .fileExists else { throw error }
            return false
        }
        isPlaced = true
        return true
    }
}

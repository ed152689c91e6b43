// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import SystemPackage
package import VaultCrypto
package import VaultFormat
package import VaultStorage
internal import VaultSystem

/// Records as files `vlt1/<realm>/<kind>/<stream>/<number>` below a directory: a directory that devices share by
/// Syncthing, NFS or a USB stick, or a device's own mirror.
///
/// Other devices and programs put files there. Anything but a regular file with the name and length of a record counts
/// as absent: the store does not follow it, does not wait for it, and does not open it if that could have effects.
package final class DirectoryRecordStore: RecordStore {
    static let version = "vlt1"
    /// The most names of a folder in memory while the records are read in order.
    private static let namesAtOnce = 16_384

    let fileSystem: any VaultFileSystem
    let root: FilePath
    let realm: RealmID
    let createsRoot: Bool
    let random: any RandomSource
    /// Whether a record is durable when `append` returns. A cache needs no durability.
    let isDurable: Bool
    /// Kinds and streams whose names are durable, up to the root.
    let settled = Mutex<(kinds: Set<RecordKind>, streams: Set<RecordStream>)>(([], []))
    /// Streams whose folders have unfinished files.
    let littered = Mutex<Set<RecordStream>>([])

    /// - Parameters:
    ///   - root: an absolute path.
    ///   - createsRoot: whether the first `append` makes the directory. Otherwise a missing directory is
    ///     `.unreachable`: its medium may not be mounted.
    package init(
        _ root: FilePath, realm: RealmID, createsRoot: Bool, on fileSystem: any VaultFileSystem = LinuxFileSystem(),
        random: any RandomSource = SystemRandom(), isDurable: Bool = true
    ) {
        self.fileSystem = fileSystem
        self.root = root
        self.realm = realm
        self.createsRoot = createsRoot
        self.random = random
        self.isDurable = isDurable
    }

    /// The heads according to the names of files, without a look at their content.
    package func heads() throws(RecordStoreError) -> [StreamHead] {
        var heads: [StreamHead] = []
        for kind in RecordKind.allCases where kind.isHeaded {
            guard let folder = try folder(at: components(of: kind)) else { continue }
            for stream in try streams(of: kind, in: folder) {
                guard let own = try self.folder(at: [stream.name.digits], in: folder) else { continue }
                let sequences = try sequences(of: stream, in: own)
                guard let first = sequences.first, let last = sequences.last else { continue }
                heads.append(StreamHead(stream, first: first, last: last, count: UInt64(sequences.count)))
            }
        }
        return heads
    }

    package func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        for start in starts {
            guard let folder = try folder(of: start.stream) else { continue }
            var next: UInt64? = start.sequence
            while let from = next {
                var lowest = LowestRecordNames(capacity: Self.namesAtOnce)
                try forEachRecordName(in: folder, of: start.stream) { if $0.sequence >= from { lowest.insert($0) } }
                let names = lowest.sorted()
                for name in names {
                    guard case .record(let bytes, _) = try content(of: name, in: folder, of: start.stream.kind) else {
                        continue
                    }
                    try take(StoredRecord(RecordAddress(start.stream, name.sequence), bytes))
                }
                next = names.last.flatMap { $0.sequence < .max ? $0.sequence + 1 : nil }
            }
        }
    }

    package func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? {
        guard let folder = try folder(of: address.stream) else { return nil }
        let name = RecordName(address.sequence)
        guard case .record(let bytes, _) = try content(of: name, in: folder, of: address.stream.kind) else {
            return nil
        }
        return bytes
    }

    package func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        guard let folder = try folder(of: stream) else { return }
        var (removesSome, removedSome) = (true, false)
        // Some file systems skip names when files are removed during the listing.
        while removesSome {
            removesSome = false
            try attempt(folder.path) { () throws(Errno) in
                try folder.forEachName { (name) throws(Errno) in
                    guard let record = RecordName(name), record.sequence < sequence,
                        try folder.status(of: name).map({ $0.kind != .directory }) == true
                    else { return }
                    do throws(Errno) { try folder.remove(name) } catch {
                        if error != .noSuchFileOrDirectory { throw error }
                    }
                    (removesSome, removedSome) = (true, true)
                }
            }
        }
        if removedSome { try attempt(folder.path) { () throws(Errno) in try folder.synchronize() } }
    }

    package func remove(_ address: RecordAddress) throws(RecordStoreError) {
        guard let folder = try folder(of: address.stream) else { return }
        let name = RecordName(address.sequence).text
        try attempt(folder.path.appending(name)) { () throws(Errno) in
            do throws(Errno) { try folder.remove(name) } catch {
                if error != .noSuchFileOrDirectory { throw error }
            }
            try folder.synchronize()
        }
    }

    /// Returns every number of the stream that has a file, in ascending order.
    package func sequences(of stream: RecordStream) throws(RecordStoreError) -> [UInt64] {
        guard let folder = try folder(of: stream) else { return [] }
        return try sequences(of: stream, in: folder)
    }

    private func sequences(
        of stream: RecordStream, in folder: any VaultDirectory
    ) throws(RecordStoreError) -> [UInt64] {
        var sequences: [UInt64] = []
        try forEachRecordName(in: folder, of: stream) { sequences.append($0.sequence) }
        sequences.sort()
        var last: UInt64 = 0
        return sequences.filter { sequence in
            defer { last = sequence }
            return sequence != last
        }
    }

    /// Returns every stream of every kind that has a folder, in order.
    package func streams() throws(RecordStoreError) -> [RecordStream] {
        var streams: [RecordStream] = []
        for kind in RecordKind.allCases { streams += try self.streams(of: kind) }
        return streams
    }
}

// MARK: Folders

extension DirectoryRecordStore {
    /// The names from the root down to a stream's folder.
    func components(of stream: RecordStream) -> [String] { components(of: stream.kind) + [stream.name.digits] }

    private func components(of kind: RecordKind) -> [String] { [Self.version, realm.digits, String(kind.rawValue)] }

    func streams(of kind: RecordKind) throws(RecordStoreError) -> [RecordStream] {
        guard let folder = try folder(at: components(of: kind)) else { return [] }
        return try streams(of: kind, in: folder)
    }

    private func streams(
        of kind: RecordKind, in folder: any VaultDirectory
    ) throws(RecordStoreError) -> [RecordStream] {
        var streams: [RecordStream] = []
        try attempt(folder.path) { () throws(Errno) in
            try folder.forEachName { (name) throws(Errno) in
                guard name.utf8.count == 2 * Bytes16.length, let bytes = bytes(hexadecimal: name),
                    try folder.status(of: name)?.kind == .directory
                else { return }
                streams.append(RecordStream(kind, Bytes16(bytes)))
            }
        }
        return streams.sorted()
    }

    private func folder(of stream: RecordStream) throws(RecordStoreError) -> (any VaultDirectory)? {
        try folder(at: components(of: stream))
    }

    private func folder(at components: [String]) throws(RecordStoreError) -> (any VaultDirectory)? {
        guard let root = try openRoot() else { return nil }
        return try folder(at: components, in: root)
    }

    /// Returns `nil` if the folder is missing or is not a directory.
    private func folder(
        at components: [String], in root: any VaultDirectory
    ) throws(RecordStoreError) -> (any VaultDirectory)? {
        var folder = root
        for component in components {
            do throws(Errno) { folder = try folder.directory(component) } catch {
                if Self.isAbsence(error) { return nil }
                throw .inputOutput(error, folder.path.appending(component).string)
            }
        }
        return folder
    }

    /// Returns `nil` if the root is yet to be made.
    func openRoot() throws(RecordStoreError) -> (any VaultDirectory)? {
        do throws(Errno) { return try fileSystem.openDirectory(root) } catch {
            switch error {
            case .noSuchFileOrDirectory where createsRoot: return nil
            // Errors of a medium that was removed, or of a file server that is gone.
            case .noSuchFileOrDirectory, .notDirectory, .socketNotConnected, .staleNFSFileHandle, .timedOut,
                .hostIsDown,
                .noRouteToHost, .operationNotSupportedByDevice, .noSuchAddressOrDevice:
                throw .unreachable(root.string)
            default: throw .inputOutput(error, root.string)
            }
        }
    }

    private func forEachRecordName(
        in folder: any VaultDirectory, of stream: RecordStream, _ body: (RecordName) -> Void
    ) throws(RecordStoreError) {
        var isLittered = false
        try attempt(folder.path) { () throws(Errno) in
            try folder.forEachName { name in
                if let record = RecordName(name) {
                    body(record)
                } else if !isLittered {
                    isLittered = RecordName.isTemporary(name)
                }
            }
        }
        if isLittered { littered.withLock { _ = $0.insert(stream) } }
    }

    /// Whether an open fails with this error because nothing of the kind is there.
    private static func isAbsence(_ error: Errno) -> Bool {
        error == .noSuchFileOrDirectory || error == .notDirectory || error == .tooManySymbolicLinkLevels
    }
}

// MARK: Files

extension DirectoryRecordStore {
    /// The file under a record's name.
    enum Content {
        case record([UInt8], any VaultFile)
        /// A file that is still too short.
        case unfinished(any VaultFile)
        case other
    }

    /// Returns `nil` if there is no file.
    func content(
        of name: RecordName, in folder: any VaultDirectory, of kind: RecordKind
    ) throws(RecordStoreError) -> Content? {
        let text = name.text
        return try attempt(folder.path.appending(text)) { () throws(Errno) in
            // Checked before the open: opening a device can have effects of its own.
            guard let named = try folder.status(of: text) else { return nil }
            guard named.kind == .regular else { return .other }
            let file: any VaultFile
            do throws(Errno) { file = try folder.open(text, writable: false) } catch {
                if Self.isAbsence(error) { return nil }
                throw error
            }
            // Checked again after the open: this is the file that is read, even if the name has changed its meaning.
            let status = try file.status()
            guard status.kind == .regular, status.size <= kind.lengths.upperBound else { return .other }
            guard status.size >= kind.lengths.lowerBound else { return .unfinished(file) }
            let bytes = try file.read(status.size, at: 0)
            return bytes.count < kind.lengths.lowerBound ? .unfinished(file) : .record(bytes, file)
        }
    }

    func attempt<R>(_ path: @autoclosure () -> FilePath, _ body: () throws(Errno) -> R) throws(RecordStoreError) -> R {
        do throws(Errno) { return try body() } catch { throw .inputOutput(error, path().string) }
    }
}

extension Bytes16 {
    fileprivate var digits: String { hexadecimal((0..<Self.length).map { bytes[$0] }) }
}

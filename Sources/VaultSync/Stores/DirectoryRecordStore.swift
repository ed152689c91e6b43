// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import SystemPackage
package import VaultCrypto
package import VaultFormat
package import VaultStorage

/// Records as files `vlt1/<realm>/<kind>/<stream>/<number>` below a directory: one that devices share by Syncthing, NFS
/// or a USB stick, or a device's own mirror.
///
/// Other devices and other programs put files there. What is no regular file of a record's name and length is not
/// there: neither followed, nor opened if that could have effects, nor waited for.
package final class DirectoryRecordStore: RecordStore {
    static let version = "vlt1"
    /// How many names of a folder are kept in memory at a time to be read in order.
    private static let namesAtOnce = 16_384

    let fileSystem: any VaultFileSystem
    let root: FilePath
    let realm: RealmID
    let createsRoot: Bool
    let random: any RandomSource
    /// Whether a record is durable when `append` returns: a cache need not be.
    let isDurable: Bool
    /// Where names were made durable, up to the root.
    let settled = Mutex<(kinds: Set<RecordKind>, streams: Set<RecordStream>)>(([], []))
    /// Where unfinished files were seen.
    let littered = Mutex<Set<RecordStream>>([])

    /// - Parameters:
    ///   - root: from the file system's root.
    ///   - createsRoot: whether the first `append` makes the directory. Else one that is missing is `.unreachable`:
    ///     what should be there may be on a medium that is not.
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

    /// As the names of files tell; what is in them is not looked at.
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
        // Some file systems skip names when others go while they are shown.
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

    /// Every number of the stream that has a file, in order.
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

    /// Every stream of every kind that has a folder, in order.
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

    /// Nil: it is not there, or it is something else.
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

    /// Nil: it is yet to be made.
    func openRoot() throws(RecordStoreError) -> (any VaultDirectory)? {
        do throws(Errno) { return try fileSystem.openDirectory(root) } catch {
            switch error {
            case .noSuchFileOrDirectory where createsRoot: return nil
            // What a medium that was taken away says, and a server that is.
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

    /// What a name that is asked for, or an open of it, says when there is nothing of the kind.
    private static func isAbsence(_ error: Errno) -> Bool {
        error == .noSuchFileOrDirectory || error == .notDirectory || error == .tooManySymbolicLinkLevels
    }
}

// MARK: Files

extension DirectoryRecordStore {
    /// What lies under a record's name.
    enum Content {
        case record([UInt8], any VaultFile)
        /// A file that is too short yet.
        case unfinished(any VaultFile)
        case other
    }

    /// Nil: there is nothing.
    func content(
        of name: RecordName, in folder: any VaultDirectory, of kind: RecordKind
    ) throws(RecordStoreError) -> Content? {
        let text = name.text
        return try attempt(folder.path.appending(text)) { () throws(Errno) in
            // Before the open: opening a device can have effects of its own.
            guard let named = try folder.status(of: text) else { return nil }
            guard named.kind == .regular else { return .other }
            let file: any VaultFile
            do throws(Errno) { file = try folder.open(text, writable: false) } catch {
                if Self.isAbsence(error) { return nil }
                throw error
            }
            // And after it: this is the file that is read, whatever the name stood for before.
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

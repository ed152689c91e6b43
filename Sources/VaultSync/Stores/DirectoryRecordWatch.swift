// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import SystemPackage
internal import VaultFormat
internal import VaultSystem

extension DirectoryRecordStore {
    /// Watches by inotify(7), which reports changes by this machine's processes, and hints every 30 seconds, because of
    /// changes by other machines.
    ///
    /// - Throws: `.unreachable` for a missing root that should be there.
    package func watch(
        _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(RecordStoreError) -> (any RecordWatch)? {
        try watch(every: DirectoryRecordWatch.interval, hint)
    }

    func watch(
        every interval: Duration, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(RecordStoreError) -> any RecordWatch {
        _ = try openRoot()
        return try attempt(root) { () throws(Errno) in
            try DirectoryRecordWatch(of: self, every: interval, HintGate(hint))
        }
    }
}

/// A thread that waits for changes in the folders of a realm. Large values are not watched: the entry that names one is
/// stored after it.
private final class DirectoryRecordWatch: RecordWatch {
    static let interval = Duration.seconds(30)

    private let stopPipe: StopPipe
    private let gate: HintGate
    private let waiting = DispatchGroup()

    init(of store: DirectoryRecordStore, every interval: Duration, _ gate: HintGate) throws(Errno) {
        (stopPipe, self.gate) = (try StopPipe(), gate)
        var folders = try WatchedFolders(store)
        // Done before the return, so that every later change is reported.
        _ = folders.look()
        let first = folders
        DispatchQueue(label: "vault.folders").async(group: waiting) { [stopPipe] in
            var folders = first
            folders.wait(until: stopPipe, every: interval, gate)
        }
    }

    deinit { end() }

    func end() {
        stopPipe.stop()
        gate.close()
        // The hint's callback may end its own watch.
        if !gate.isDelivering { waiting.wait() }
    }
}

/// The existing folders of a realm, from the root down to the streams.
private struct WatchedFolders {
    private enum Folder: Equatable {
        case root, above, kind
        case stream(RecordStream)
    }

    /// The inotify descriptor, closed with the last copy of the value.
    private final class Watches: Sendable {
        let descriptor: Descriptor
        init() throws(Errno) { descriptor = try Descriptor(Int(clinux_folder_watches())) }
    }

    /// The system limits a user's watches; the periodic hint covers the folders without one.
    private static let limit = 8192

    private let store: DirectoryRecordStore
    private let watches: Watches
    private var folders: [Int32: Folder] = [:]

    init(_ store: DirectoryRecordStore) throws(Errno) {
        self.store = store
        watches = try Watches()
    }

    /// Watches the folders that are new.
    ///
    /// - Returns: whether one of them is a stream's folder, which may have records already.
    mutating func look() -> Bool {
        var path = store.root
        add(path, .root)
        let components = store.components(of: RecordStream(.roster, .zero)).dropLast(2)
        for component in components {
            path.append(component)
            add(path, .above)
        }
        var foundStream = false
        for kind in RecordKind.allCases where kind != .blob {
            add(path.appending(String(kind.rawValue)), .kind)
            for stream in (try? store.streams(of: kind)) ?? [] where folders.count < Self.limit {
                let folder = store.components(of: stream).reduce(store.root) { $0.appending($1) }
                if add(folder, .stream(stream)) { foundStream = true }
            }
        }
        return foundStream
    }

    @discardableResult
    private mutating func add(_ path: FilePath, _ folder: Folder) -> Bool {
        // The same folder gets the same number again.
        let number = unsafe clinux_watch_folder(watches.descriptor.number, path.string)
        guard number >= 0 else { return false }
        return folders.updateValue(folder, forKey: Int32(number)) == nil
    }

    /// Hints until the watch is stopped or the root is gone.
    mutating func wait(until stop: StopPipe, every interval: Duration, _ gate: HintGate) {
        var due = ContinuousClock.now + interval
        while true {
            do throws(PipeFailure) {
                try stop.wait(for: watches.descriptor.number, within: max(.zero, ContinuousClock.now.duration(to: due)))
                tell(next(), gate)
            } catch .silent {
                due = ContinuousClock.now + interval
                _ = look()
                gate.pass(.changed)
            } catch .failed(let error) {
                return gate.pass(.lost(.inputOutput(error, store.root.string)))
            } catch { return }
            do throws(RecordStoreError) { _ = try store.openRoot() } catch { return gate.pass(.lost(error)) }
        }
    }

    // MARK: Events

    private struct Event {
        let folder: Folder?
        let what: UInt32
        let name: String
    }

    /// `struct inotify_event`: `wd i32, mask u32, cookie u32, len u32`, then a name that is padded with zero bytes.
    private mutating func next() -> [Event] {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = unsafe read(watches.descriptor.number, &bytes, bytes.count)
        var reader = ByteReader(bytes, 0..<max(0, count))
        var events: [Event] = []
        while reader.remaining > 0, let event = try? Self.event(&reader) {
            events.append(Event(folder: folders[event.watch], what: event.what, name: event.name))
            if event.what & CLINUX_FOLDER_GONE != 0 { folders[event.watch] = nil }
        }
        return events
    }

    private static func event(
        _ reader: inout ByteReader
    ) throws(FormatError) -> (watch: Int32, what: UInt32, name: String) {
        let watch = Int32(bitPattern: try reader.integer(UInt32.self, .body))
        let what = try reader.integer(UInt32.self, .body)
        _ = try reader.integer(UInt32.self, .body)
        let name = try reader.array(Int(try reader.integer(UInt32.self, .body)))
        return (watch, what, String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
    }

    private mutating func tell(_ events: [Event], _ gate: HintGate) {
        var told: Set<RecordAddress> = []
        var (looks, hasChanged) = (false, false)
        for event in events {
            if event.what & CLINUX_FOLDER_OVERFLOW != 0 { (looks, hasChanged) = (true, true) }
            switch event.folder {
            case .stream(let stream) where event.what & CLINUX_FOLDER_GONE == 0:
                guard let record = RecordName(event.name) else { continue }
                let address = RecordAddress(stream, record.sequence)
                if told.insert(address).inserted { gate.pass(.appended(stream, record.sequence)) }
            case .stream, nil: break
            case .root, .above, .kind: looks = true
            }
        }
        if looks, look() { hasChanged = true }
        if hasChanged { gate.pass(.changed) }
    }
}

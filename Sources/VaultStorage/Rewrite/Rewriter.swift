// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// A vault file at one commit, for a reader while others continue to write.
///
/// A class, so that several threads can read one value.
final class LogSnapshot: Sendable {
    let file: any VaultFile
    let tip: Commit
    let records: RecordTable
    private let page: HeaderPage
    private let keys: GenerationKeys

    init(file: any VaultFile, page: HeaderPage, keys: consuming GenerationKeys, tip: Commit, records: RecordTable) {
        (self.file, self.page, self.tip, self.records) = (file, page, tip, records)
        self.keys = keys
    }

    /// Checks every frame up to the tip: see ``LogReader/check(_:_:_:through:)``.
    func check() throws(StorageError) { _ = try LogReader.check(file, page, keys, through: tip) }
}

/// Writes the live data of a vault file as one transaction of another.
struct Rewriter: ~Copyable {
    /// A record for the new file, with nonce and box of its value; empty if the previous record has the same.
    typealias Record = (operation: [UInt8], box: [UInt8])

    private let source: LogSnapshot
    private var file: NewFile
    /// Whether an early sync of the copy is worthwhile, to shorten the time under the lock.
    private let isLarge: Bool

    init(
        _ source: LogSnapshot, _ header: Header, root: borrowing SecretBytes, in location: VaultLocation,
        _ environment: VaultEnvironment
    ) throws(StorageError) {
        file = try NewFile(
            header, root: root, length: Layout.firstFrame + source.records.liveBytes + 4096, places: source.records.end,
            in: location,
            environment)
        isLarge = source.tip.position.end > environment.lockFreeCopyLength
        self.source = source
    }

    /// The commit that was copied.
    var sourceTip: Commit { source.tip }

    /// Whether the new file has a slot that takes a passphrase.
    var hasPassphrase: Bool { file.page.header.hasPassphrase }

    /// Whether this is a copy of that file.
    func isOf(_ log: borrowing Log) -> Bool { source.file === log.file }

    mutating func append(_ operation: [UInt8], box: [UInt8]) throws(StorageError) {
        try file.append(operation, box: box)
    }

    /// Checks and copies the file while others continue to write; syncs a large copy early, to leave little for later.
    mutating func copyBesideWriters() throws(StorageError) {
        try copyChecked()
        if isLarge { try file.synchronizeEarly() }
    }

    /// Copies the remaining records while another thread checks the file.
    mutating func copyChecked(without purged: VaultStore.Purge = VaultStore.Purge()) throws(StorageError) {
        let source = source
        let checked = Later { Result { () throws(StorageError) in try source.check() } }
        let copied = Result { () throws(StorageError) in try copy(without: purged) }
        // Damage of the source is reported first: the copy may have failed for it.
        try checked.value.get()
        try copied.get()
    }

    /// Copies the remaining records, and the boxes of their values unchanged.
    mutating func copy(without purged: VaultStore.Purge) throws(StorageError) {
        let layout = layOut(without: purged)
        let (source, records) = (self.source.file, self.source.records)
        var next = 0
        while next < layout.count {
            let runs = runs(of: layout, from: next)
            let copies = Parallel.map(runs.count, atLeast: 2) { number in
                do throws(StorageError) {
                    return Result<[Copy], StorageError>.success(
                        try Rewriter.copies(of: layout, runs[number], from: source, records))
                } catch { return .failure(error) }
            }
            for run in copies {
                for copy in try run.get() { try file.append(copy.record.operation, box: copy.record.box, copy.origin) }
            }
            next = runs.last?.upperBound ?? layout.count
        }
    }

    private typealias Copy = (record: Record, origin: NewFile.Origin)

    /// The most records, and about the most bytes of boxes, that one thread copies at a time.
    private static let runLength = (records: 512, boxes: 512 << 10)

    /// The most records that are copied before they are appended to the file.
    private static let mostCopied = 8192

    /// The runs of records that are copied next.
    private func runs(of layout: [Live], from start: Int) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        var (first, index, total, bytes) = (start, start, 0, 0)
        while index < layout.count, index - start < Rewriter.mostCopied, total < NewFile.groupLength {
            let length = layout[index].boxLength(in: source.records)
            (index, total, bytes) = (index + 1, total + length, bytes + length)
            if index - first == Rewriter.runLength.records || bytes >= Rewriter.runLength.boxes {
                runs.append(first..<index)
                (first, bytes) = (index, 0)
            }
        }
        if first < index { runs.append(first..<index) }
        return runs
    }

    private static func copies(
        of layout: [Live], _ run: Range<Int>, from file: any VaultFile, _ records: RecordTable
    ) throws(StorageError) -> [Copy] {
        var boxes = ValueReader(file)
        var copies: [Copy] = []
        copies.reserveCapacity(run.count)
        var last: ValueLocation?
        if run.lowerBound > 0, let operation = layout[run.lowerBound - 1].encoded(in: records) {
            last = Operation.value(of: operation.span)
        }
        for live in layout[run] {
            guard let operation = live.encoded(in: records) else { continue }
            let value = Operation.value(of: operation.span)
            // Versions of an item that share a value continue to share it.
            let box = value == last ? [] : try boxes.box(of: operation.span)
            copies.append(((operation, box), live.origin))
            last = value
        }
        return copies
    }

    /// Copies the records converted.
    ///
    /// - Parameter convert: gets each record and the progress, from 0 to 1. `nil` leaves the record out.
    mutating func copy(
        _ convert: (_ operation: [UInt8], _ progress: Double) throws(StorageError) -> Record?
    ) throws(StorageError) {
        let layout = layOut(without: VaultStore.Purge())
        for (index, live) in layout.enumerated() {
            guard let operation = live.encoded(in: source.records),
                let record = try convert(operation, Double(index) / Double(layout.count))
            else { continue }
            try file.append(record.operation, box: record.box, live.origin)
        }
    }

    /// A record to copy.
    private enum Live: Sendable {
        /// The record at a place of the table.
        case current(Int)
        /// An older version, by its index among those of its item.
        case past(ItemID, Int)
        /// A version kept by replication, by its index likewise.
        case kept(ItemID, Int)

        var origin: NewFile.Origin {
            switch self {
            case .current(let place): .current(place)
            case .past, .kept: .past
            }
        }

        func encoded(in records: borrowing RecordTable) -> [UInt8]? {
            switch self {
            case .current(let place): records.read(place) { $0.array($0.indices) }
            case .past(let id, let index): records.past[id]?[index].encoded()
            case .kept(let id, let index): records.kept[id]?[index].encoded()
            }
        }

        /// The length of nonce and box of its value, in bytes; 0 without one.
        func boxLength(in records: borrowing RecordTable) -> Int {
            switch self {
            case .current(let place): records.read(place) { Operation.boxLength(of: $0) } ?? 0
            case .past(let id, let index): Int(records.past[id]?[index].value?.length ?? 0)
            case .kept(let id, let index): Int(records.kept[id]?[index].value?.length ?? 0)
            }
        }
    }

    /// The remaining records: the settings, then the items by identifier, older versions before the current one.
    private func layOut(without purged: VaultStore.Purge) -> [Live] {
        let records = source.records
        // Items that require a passphrase are removed if the new file has none.
        let hasPassphrase = hasPassphrase
        func stays(_ operation: Span<UInt8>) -> Bool {
            hasPassphrase || Operation.protection(of: operation) != .whenPasscodeSetThisDeviceOnly
        }
        var past = records.past.filter { !purged.histories.contains($0.key) }.keys.sorted()[...]
        var (settings, layout): ([Live], [Live]) = ([], [])
        layout.reserveCapacity(records.count + past.count)
        func append(past id: ItemID) {
            for (index, version) in (records.past[id] ?? []).enumerated()
            where hasPassphrase || version.protection != .whenPasscodeSetThisDeviceOnly {
                layout.append(.past(id, index))
            }
        }
        for (id, place) in records.sortedPlaces {
            while let older = past.first, older <= id { append(past: past.removeFirst()) }
            guard records.read(place, stays) == true, !purged.items.contains(id) else { continue }
            // Kept versions precede the record that names them.
            if !records.kept.isEmpty { layout += (records.kept[id] ?? []).indices.map { .kept(id, $0) } }
            let isSettings = records.read(place) { Operation.itemClass(of: $0) == nil } == true
            if isSettings { settings.append(.current(place)) } else { layout.append(.current(place)) }
        }
        for id in past { append(past: id) }
        return settings + layout
    }

    /// Adds later commits frame by frame: the sequence number must not fall below one that others have seen.
    mutating func append(later frames: [FrameOperations]) throws(StorageError) {
        var boxes = ValueReader(source.file)
        for operations in frames {
            try file.endFrame()
            try operations.forEach { (operation) throws(StorageError) in
                try file.append(operation.array(operation.indices), box: try boxes.box(of: operation), .later)
            }
        }
    }

    /// Finishes the file, which is read back and not named yet.
    consuming func finish() throws(StorageError) -> NewFile {
        try file.finish()
        return file
    }

    /// Replaces the source file by this one.
    ///
    /// - Parameters:
    ///   - tip: the last commit included.
    ///   - recipient: of another handle that continues with the file.
    consuming func finish(after tip: LogPosition, _ health: Health, for recipient: HandoverSlot? = nil)
        throws(StorageError) -> Handover
    {
        let file = try finish()
        let opened = file.file
        let identity = try attempt(.open, opened.status())
        let handover = Handover(
            file: file.file, identity: identity, page: file.page, source: tip, tip: file.tip, moved: file.moved)
        // Offered before the file is named, since the other handle looks for it from then on.
        recipient?.offer(handover)
        do throws(StorageError) { try file.finish(replacing: true) } catch {
            recipient?.withdraw()
            if case .indeterminate = error { health.poison() }
            throw error
        }
        return handover
    }
}

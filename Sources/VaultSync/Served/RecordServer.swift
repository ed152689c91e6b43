// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import VaultFormat
package import VaultStorage
internal import VaultSystem

/// A server of the records below a directory, for a ``ServedRecordStore`` at the other end of two pipes. The server has
/// no keys and no vault.
///
/// The client is as hostile as any device: it reaches only records of its permitted realms. The server answers
/// questions one after the other, and a read holds at most one record in memory.
package final class RecordServer {
    /// The rights of a client.
    package struct Rules: Sendable {
        /// The permitted fleets; empty permits all. Mailboxes of joining devices are always permitted.
        package let realms: Set<RealmID>
        /// Whether removals are denied.
        package let isAppendOnly: Bool

        package init(realms: Set<RealmID> = [], isAppendOnly: Bool = false) {
            (self.realms, self.isAppendOnly) = (realms, isAppendOnly)
        }
    }

    private static let storesAtOnce = 8
    private static let watchesAtOnce = 8
    /// The longest silence of the server; the client waits three times as long.
    package static let aliveInterval = Duration.seconds(10)
    package static let patience = Duration.seconds(30)

    private let root: FilePath
    private let rules: Rules
    private let fileSystem: any VaultFileSystem
    private let pipes: FramePipes
    private var stores: [RealmID: DirectoryRecordStore] = [:]
    private var watches: [UInt32: any RecordWatch] = [:]

    /// - Parameters:
    ///   - root: an absolute path of an existing directory.
    ///   - input: the client's questions; not closed, and its flags are restored.
    ///   - output: the answers to the client; not closed, and its flags are restored.
    /// - Throws: `.inputOutput` if the process may open no more files.
    package init(
        _ root: FilePath, _ rules: Rules, input: Int32, output: Int32,
        on fileSystem: any VaultFileSystem = LinuxFileSystem(), patience: Duration = patience
    ) throws(RecordStoreError) {
        (self.root, self.rules, self.fileSystem) = (root, rules, fileSystem)
        do throws(Errno) {
            pipes = try FramePipes(input: input, output: output, patience: patience)
        } catch { throw .inputOutput(error, root.string) }
    }

    /// Serves until the client is gone.
    ///
    /// - Returns: the reason why the server has dropped the client, or `nil`.
    package func run(aliveEvery interval: Duration = aliveInterval) -> String? {
        defer { pipes.giveBack() }
        var reader = FrameReader(pipes)
        do throws(PipeFailure) {
            try pipes.send(ServedFrame.greeting)
            try reader.readGreeting()
        } catch { return error == .silent ? "the client does not greet" : reason(error) }
        let hints = ServedHints(pipes, every: interval)
        defer {
            for watch in watches.values { watch.end() }
            hints.end()
        }
        do throws(PipeFailure) { while true { try answer(try reader.next(idle: nil), hints) } } catch {
            return reason(error)
        }
    }

    private func reason(_ failure: PipeFailure) -> String? {
        switch failure {
        case .ended, .stopped: nil
        case .silent: "the client takes no answer, or has sent a part of a question"
        case .failed(let errno): "the connection failed: \(errno.text)"
        case .violation(let what): "the client does not keep to the protocol: \(what)"
        }
    }

    // MARK: Questions

    /// The reason why a question gets no answer.
    private enum Obstacle: Error {
        case pipe(PipeFailure)
        case store(RecordStoreError)
    }

    private func answer(_ frame: ServedFrame, _ hints: ServedHints) throws(PipeFailure) {
        guard let question = ServedFrame.Question(rawValue: frame.what) else {
            throw .violation("a question that there is not")
        }
        var reader = ByteReader(frame.content)
        var end: [UInt8]?
        do throws(Obstacle) {
            end = try answer(question, frame.id, &reader, hints)
        } catch {
            switch error {
            case .pipe(let failure): throw failure
            case .store(let error):
                var content: [UInt8] = []
                content.append(error.below(root))
                return try pipes.send(ServedFrame(.failed, frame.id, content))
            }
        }
        if let end { try pipes.send(ServedFrame(.done, frame.id, end)) }
    }

    /// - Returns: the content of the answer's last frame; `nil` if the question has no answer.
    private func answer(
        _ question: ServedFrame.Question, _ id: UInt32, _ reader: inout ByteReader, _ hints: ServedHints
    ) throws(Obstacle) -> [UInt8]? {
        switch question {
        case .realms:
            try expectEnd(reader)
            try sendParts(of: realms(), .realms, id, length: Bytes16.length) { $0.append($1) }
        case .heads:
            let store = try store(&reader)
            try expectEnd(reader)
            let heads = try stored { () throws(RecordStoreError) in try store.heads() }
            try sendParts(of: heads, .heads, id, length: StreamHead.servedLength) { $0.append($1) }
        case .read: return try read(&reader, id)
        case .record:
            let (store, address) = try storeAndAddress(&reader)
            guard let bytes = try stored({ () throws(RecordStoreError) in try store.record(at: address) }) else {
                break
            }
            try send(StoredRecord(address, bytes), id)
        case .append: return try append(&reader)
        case .removeBelow, .removeOne:
            let (store, address) = try storeAndAddress(&reader)
            guard !rules.isAppendOnly else { throw .store(.denied("it removes no records")) }
            try stored { () throws(RecordStoreError) in
                if question == .removeOne { return try store.remove(address) }
                try store.remove(address.stream, below: address.sequence)
            }
        case .watch:
            let store = try store(&reader)
            try expectEnd(reader)
            guard watches.count < Self.watchesAtOnce, watches[id] == nil else {
                throw .pipe(.violation("too many watches"))
            }
            watches[id] = try stored { () throws(RecordStoreError) in try store.watch { hints.add($0, of: id) } }
        case .unwatch:
            try expectEnd(reader)
            watches.removeValue(forKey: id)?.end()
            return nil
        }
        return []
    }

    private func realms() throws(Obstacle) -> [RealmID] {
        let found = try stored { () throws(RecordStoreError) in
            try DirectoryRecordStore.realms(below: root, on: fileSystem)
        }
        return found.filter { rules.realms.isEmpty || rules.realms.contains($0) }
    }

    private func read(_ reader: inout ByteReader, _ id: UInt32) throws(Obstacle) -> [UInt8] {
        let (store, start) = try storeAndAddress(&reader)
        var (length, last) = (0, UInt64?.none)
        var failure: PipeFailure?
        do throws(RecordStoreError) {
            try store.read([StreamStart(start.stream, from: start.sequence)]) { record throws(RecordStoreError) in
                // All records of one address are in one page: the next page begins after the address.
                guard length < ServedPage.length || last == record.address.sequence else { throw .stopped }
                let frame = Self.frame(record, id)
                (length, last) = (length + frame.length, record.address.sequence)
                do throws(PipeFailure) { try pipes.send(frame) } catch {
                    failure = error
                    throw .stopped
                }
            }
        } catch {
            if let failure { throw .pipe(failure) }
            guard error == .stopped else { throw .store(error) }
            return [1]
        }
        return [0]
    }

    private func append(_ reader: inout ByteReader) throws(Obstacle) -> [UInt8] {
        let store = try store(&reader)
        var records: [StoredRecord] = []
        do throws(FormatError) {
            while !reader.isAtEnd {
                let address = try reader.address()
                let length = Int(try reader.integer(UInt32.self, .body))
                records.append(StoredRecord(address, try reader.array(length)))
            }
        } catch { throw .pipe(.violation("records that are none")) }
        for record in records { try check(record.address.stream, of: store) }
        let batch = records
        return try stored { () throws(RecordStoreError) in try store.append(batch) }.map(\.served)
    }

    // MARK: Answers

    private func sendParts<Element>(
        of elements: [Element], _ part: ServedFrame.Answer, _ id: UInt32, length: Int,
        _ put: (inout [UInt8], Element) -> Void
    ) throws(Obstacle) {
        let atOnce = ServedFrame.limit / length
        var index = 0
        while index < elements.count {
            var content: [UInt8] = []
            for element in elements[index...].prefix(atOnce) { put(&content, element) }
            index += atOnce
            try piped { () throws(PipeFailure) in try pipes.send(ServedFrame(part, id, content)) }
        }
    }

    private func send(_ record: StoredRecord, _ id: UInt32) throws(Obstacle) {
        try piped { () throws(PipeFailure) in try pipes.send(Self.frame(record, id)) }
    }

    private static func frame(_ record: StoredRecord, _ id: UInt32) -> ServedFrame {
        var content: [UInt8] = []
        content.reserveCapacity(8 + record.bytes.count)
        content.append(integer: record.address.sequence)
        content += record.bytes
        return ServedFrame(ServedFrame.Answer.record, id, content)
    }

    // MARK: What is asked for

    private func storeAndAddress(_ reader: inout ByteReader) throws(Obstacle) -> (DirectoryRecordStore, RecordAddress) {
        let store = try store(&reader)
        let address: RecordAddress
        do throws(FormatError) {
            address = try reader.address()
            try reader.expectEnd()
        } catch { throw .pipe(.violation("an address that there is not")) }
        try check(address.stream, of: store)
        return (store, address)
    }

    private func store(_ reader: inout ByteReader) throws(Obstacle) -> DirectoryRecordStore {
        guard let realm = try? reader.name() else { throw .pipe(.violation("a question without a realm")) }
        guard realm == .zero || rules.realms.isEmpty || rules.realms.contains(realm) else {
            throw .store(.denied("it serves another fleet"))
        }
        if let store = stores[realm] { return store }
        if stores.count >= Self.storesAtOnce { stores = [:] }
        let store = DirectoryRecordStore(root, realm: realm, createsRoot: false, on: fileSystem)
        stores[realm] = store
        return store
    }

    /// Permits only mailboxes in the realm of zeros: a client that is limited to its realm could fill any other kind.
    private func check(_ stream: RecordStream, of store: DirectoryRecordStore) throws(Obstacle) {
        guard store.realm != .zero || stream.kind == .mailbox else {
            throw .store(.denied("it serves mailboxes of no fleet alone"))
        }
    }

    private func expectEnd(_ reader: ByteReader) throws(Obstacle) {
        guard reader.isAtEnd else { throw .pipe(.violation("a question that is too long")) }
    }

    private func stored<R>(_ body: () throws(RecordStoreError) -> R) throws(Obstacle) -> R {
        do throws(RecordStoreError) { return try body() } catch { throw .store(error) }
    }

    private func piped(_ body: () throws(PipeFailure) -> Void) throws(Obstacle) {
        do throws(PipeFailure) { try body() } catch { throw .pipe(error) }
    }
}

extension RecordStoreError {
    /// The error without the path of the folder, which the client does not learn; only the last component is sent.
    fileprivate func below(_ root: FilePath) -> RecordStoreError {
        func inside(_ place: String) -> String {
            place.hasPrefix(root.string) ? "…" + place.dropFirst(root.string.count) : place
        }
        return switch self {
        case .unreachable: .unreachable(root.lastComponent?.string ?? root.string)
        case .inputOutput(let errno, let place): .inputOutput(errno, inside(place))
        default: self
        }
    }
}

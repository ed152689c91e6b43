// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import VaultCrypto
internal import VaultFormat
internal import VaultSync

/// Hints from a connection of its own, read by a thread of its own.
final class EtcdWatch: RecordWatch {
    private let connection: EtcdConnection
    private let isEnded: EndMark
    private let thread = DispatchGroup()

    /// Returns when the server watches.
    ///
    /// - Throws: why it does not.
    init(
        _ connection: EtcdConnection, _ keys: EtcdKeys, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(RecordStoreError) {
        (self.connection, isEnded) = (connection, EndMark())
        let (start, isEnded) = (WatchStart(), isEnded)
        DispatchQueue(label: "etcd watch").async(group: thread) {
            let reader = WatchReader(keys, at: connection.name, hint) { start.succeed() }
            var failure = EtcdError.unreachable("\(connection.name) has ended the watch")
            do throws(EtcdError) {
                try connection.stream(.watch, EtcdRequest.watch(keys.heads), reader)
            } catch { failure = error }
            let error = failure.error(at: connection.name)
            if !start.fail(error), !isEnded.isSet { hint(.lost(error)) }
        }
        if let error = start.wait() { throw error }
    }

    deinit {
        isEnded.set()
        connection.stop()
    }

    func end() {
        isEnded.set()
        connection.stop()
        thread.wait()
    }
}

private final class EndMark: Sendable {
    private let mark = Atomic(false)

    var isSet: Bool { mark.load(ordering: .acquiring) }

    func set() { mark.store(true, ordering: .releasing) }
}

/// Whether a watch has begun.
private final class WatchStart: Sendable {
    private enum State {
        case waits, begun
        case failed(RecordStoreError)
    }

    private let state = Mutex(State.waits)
    private let isDone = DispatchSemaphore(value: 0)

    func succeed() {
        state.withLock { if case .waits = $0 { $0 = .begun } }
        isDone.signal()
    }

    /// - Returns: false when it had begun.
    func fail(_ error: RecordStoreError) -> Bool {
        let isFirst = state.withLock { state in
            guard case .waits = state else { return false }
            state = .failed(error)
            return true
        }
        if isFirst { isDone.signal() }
        return isFirst
    }

    func wait() -> RecordStoreError? {
        isDone.wait()
        return state.withLock { if case .failed(let error) = $0 { error } else { nil } }
    }
}

/// Objects of JSON, one a line, without an end.
private final class WatchReader: StreamSink {
    /// In bytes. A line tells of at most so many heads as change at once.
    private static let longestLine = 4 << 20

    private let keys: EtcdKeys
    private let host: String
    private let hint: (RecordHint) -> Void
    private let created: () -> Void
    private var line: [UInt8] = []
    private(set) var hasBegun = false
    private(set) var failure: EtcdError?

    init(_ keys: EtcdKeys, at host: String, _ hint: @escaping (RecordHint) -> Void, _ created: @escaping () -> Void) {
        (self.keys, self.host, self.hint, self.created) = (keys, host, hint, created)
    }

    var errorWords: String { Self.errorWords(line) }

    func begin() { line = [] }

    func take(_ part: Span<UInt8>) -> Bool {
        var start = 0
        for index in part.indices where part[index] == 0x0a {
            guard append(part.extracting(start..<index)), readLine() else { return false }
            start = index + 1
        }
        return append(part.extracting(start..<part.count))
    }

    private func append(_ part: Span<UInt8>) -> Bool {
        guard part.count <= Self.longestLine - line.count else { return false }
        line.append(part)
        return true
    }

    private func readLine() -> Bool {
        defer { line = [] }
        do throws(EtcdError) {
            try read(EtcdAnswer(line))
            return true
        } catch {
            failure = error
            return false
        }
    }

    private func read(_ answer: EtcdAnswer) throws(EtcdError) {
        guard let result = answer.root["result"] else {
            throw EtcdError(status: nil, Self.errorWords(answer.text), at: host)
        }
        if try answer.flag(result, "canceled") {
            let isCompacted = try answer.number(result, "compact_revision") > 0
            throw isCompacted ? .compacted : EtcdError(status: nil, answer.words(result, "cancel_reason"), at: host)
        }
        if try answer.flag(result, "created"), !hasBegun {
            hasBegun = true
            created()
        }
        for event in result["events"]?.elements ?? [] {
            // A head that goes has nothing new.
            guard answer.words(event, "type") != "DELETE", let node = event["kv"] else { continue }
            let pair = try answer.pair(node)
            guard let stream = keys.stream(ofHead: pair.key), let last = EtcdKeys.sequence(ofHead: pair.value) else {
                continue
            }
            hint(.appended(stream, last))
        }
    }
}

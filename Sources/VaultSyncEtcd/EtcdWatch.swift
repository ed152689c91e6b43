// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import VaultCrypto
internal import VaultFormat
internal import VaultSync

/// Hints from a separate connection, read by a thread of its own.
final class EtcdWatch: RecordWatch {
    /// The longest wait for the server's confirmation of the watch.
    static let patience = Duration.seconds(30)

    private let connection: EtcdConnection
    private let gate: HintGate

    /// Returns when the server has confirmed the watch.
    ///
    /// - Throws: the reason why it does not watch.
    init(
        _ connection: EtcdConnection, _ keys: EtcdKeys, patience: Duration = patience,
        _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(RecordStoreError) {
        let (start, gate) = (WatchStart(), HintGate(hint))
        (self.connection, self.gate) = (connection, gate)
        DispatchQueue(label: "etcd watch").async {
            let reader = WatchReader(keys, at: connection.name, gate) { start.succeed() }
            var failure = EtcdError.unreachable("\(connection.name) has ended the watch")
            do throws(EtcdError) {
                try connection.stream(.watch, EtcdRequest.watch(keys.heads), reader)
            } catch { failure = error }
            let error = failure.error(at: connection.name)
            if !start.fail(error) { gate.pass(.lost(error)) }
        }
        guard let outcome = start.outcome(within: patience) else {
            connection.stop()
            throw .unreachable("\(connection.name) does not begin to watch")
        }
        if case .failed(let error) = outcome { throw error }
    }

    deinit { end() }

    func end() {
        gate.close()
        connection.stop()
    }
}

/// The beginning of a watch, or the reason why it has not begun.
private final class WatchStart: Sendable {
    enum Outcome {
        case begun
        case failed(RecordStoreError)
    }

    private let first = Mutex<Outcome?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    func succeed() { _ = end(.begun) }

    /// - Returns: `false` if the watch had begun or failed before.
    func fail(_ error: RecordStoreError) -> Bool { end(.failed(error)) }

    private func end(_ outcome: Outcome) -> Bool {
        let isFirst = first.withLock { first in
            guard first == nil else { return false }
            first = outcome
            return true
        }
        if isFirst { isDone.signal() }
        return isFirst
    }

    /// Returns `nil` after the timeout.
    func outcome(within patience: Duration) -> Outcome? {
        _ = isDone.wait(timeout: .now() + patience / .seconds(1))
        return first.withLock { $0 }
    }
}

/// A reader of endless JSON objects, one on each line.
private final class WatchReader: StreamSink {
    /// The longest line in bytes. A line lists at most the heads that change at once.
    private static let longestLine = 4 << 20

    private let keys: EtcdKeys
    private let host: String
    private let gate: HintGate
    private let created: () -> Void
    private var line: [UInt8] = []
    private(set) var hasBegun = false
    private(set) var failure: EtcdError?

    init(_ keys: EtcdKeys, at host: String, _ gate: HintGate, _ created: @escaping () -> Void) {
        (self.keys, self.host, self.gate, self.created) = (keys, host, gate, created)
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
            // A removed head announces nothing new.
            guard answer.words(event, "type") != "DELETE", let node = event["kv"] else { continue }
            let pair = try answer.pair(node)
            guard let stream = keys.stream(ofHead: pair.key), let last = EtcdKeys.sequence(ofHead: pair.value) else {
                continue
            }
            gate.pass(.appended(stream, last))
        }
    }
}

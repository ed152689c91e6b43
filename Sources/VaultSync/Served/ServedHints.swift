// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// A queue that sends the hints of watches, and periodic signs of life, to the client. A thread of its own sends them,
/// since the client may read slowly and watches must not wait.
final class ServedHints: Sendable {
    private struct State {
        var waiting: [(watch: UInt32, hint: RecordHint)] = []
        var isEnded = false
    }

    /// The most waiting hints; beyond this, one `.changed` replaces the hints of a watch.
    private static let limit = 256

    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)
    private let telling = DispatchGroup()
    private let pipes: FramePipes

    init(_ pipes: FramePipes, every interval: Duration) {
        self.pipes = pipes
        DispatchQueue(label: "vault.hints").async(group: telling) { [self] in tell(every: interval) }
    }

    func add(_ hint: RecordHint, of watch: UInt32) {
        let isAdded = state.withLock { state in
            guard !state.waiting.contains(where: { $0 == (watch, hint) }) else { return false }
            var hint = hint
            if state.waiting.count >= Self.limit, hint.isOfRecords {
                state.waiting.removeAll { $0.watch == watch && $0.hint.isOfRecords }
                hint = .changed
            }
            state.waiting.append((watch, hint))
            return true
        }
        if isAdded { bell.signal() }
    }

    /// Returns when nothing more is sent.
    func end() {
        state.withLock { $0.isEnded = true }
        bell.signal()
        pipes.stop()
        telling.wait()
    }

    private func tell(every interval: Duration) {
        while true {
            let isDue = bell.wait(timeout: .now() + interval / .seconds(1)) == .timedOut
            let (waiting, isEnded) = state.withLock { state in
                defer { state.waiting = [] }
                return (state.waiting, state.isEnded)
            }
            guard !isEnded else { return }
            do throws(PipeFailure) {
                for (watch, hint) in waiting {
                    var content: [UInt8] = []
                    content.append(hint)
                    try pipes.send(ServedFrame(.hint, watch, content))
                }
                if isDue { try pipes.send(ServedFrame(.alive, 0)) }
            } catch {
                // The thread that reads questions ends too.
                return pipes.stop()
            }
        }
    }
}

extension RecordHint {
    fileprivate var isOfRecords: Bool { if case .lost = self { false } else { true } }
}

// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import VaultFormat

/// A question that is under way, and what has come back of its answer.
final class ServedCall: Sendable {
    private struct State {
        var frames: [ServedFrame] = []
        var length = 0
        /// The content of the last frame.
        var outcome: Result<[UInt8], RecordStoreError>?
        var isForgotten = false
    }

    let id: UInt32
    /// Which frames come before the last; nil: none.
    private let part: ServedFrame.Answer?
    /// How many bytes all of them may have.
    private let limit: Int
    private let state = Mutex(State())
    private let end = DispatchSemaphore(value: 0)

    init(_ id: UInt32, parts part: ServedFrame.Answer?, limit: Int) {
        (self.id, self.part, self.limit) = (id, part, limit)
    }

    /// - Returns: whether it was the last frame.
    /// - Throws: `.violation`
    func take(_ frame: ServedFrame) throws(PipeFailure) -> Bool {
        switch ServedFrame.Answer(rawValue: frame.what) {
        case .done:
            guard frame.content.count <= 1 << 16 else { throw .violation("an answer without end") }
            finish(.success(frame.content))
            return true
        case .failed:
            var reader = ByteReader(frame.content)
            guard let error = try? reader.storeError() else { throw .violation("an error that there is not") }
            finish(.failure(error))
            return true
        case let what? where what == part:
            return try state.withLock { state throws(PipeFailure) in
                state.length += frame.content.count + ServedFrame.headLength
                guard state.length <= limit else { throw .violation("an answer without end") }
                if !state.isForgotten { state.frames.append(frame) }
                return false
            }
        default: throw .violation("an answer to another question")
        }
    }

    func finish(_ outcome: Result<[UInt8], RecordStoreError>) {
        state.withLock { if $0.outcome == nil { $0.outcome = outcome } }
        end.signal()
    }

    /// No caller wants the answer any more; what is still to come of it is dropped.
    func forget() {
        state.withLock { state in
            state.isForgotten = true
            state.frames = []
        }
    }

    /// - Returns: the frames before the last, and what the last holds. Nil: there is no answer in that time.
    func answer(
        within patience: Duration
    ) -> Result<(parts: [ServedFrame], end: [UInt8]), RecordStoreError>? {
        guard end.wait(timeout: .now() + patience / .seconds(1)) == .success else { return nil }
        return state.withLock { state in
            state.outcome?.map { end in
                defer { state.frames = [] }
                return (state.frames, end)
            }
        }
    }
}

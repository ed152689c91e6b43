// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import VaultFormat

/// A pending question, and the frames of its answer so far.
final class ServedCall: Sendable {
    private struct State {
        var frames: [ServedFrame] = []
        var length = 0
        /// The content of the last frame.
        var outcome: Result<[UInt8], RecordStoreError>?
        var isForgotten = false
    }

    let id: UInt32
    /// The kind of the frames before the last; `nil` if the answer has only one frame.
    private let part: ServedFrame.Answer?
    /// The most bytes of all frames before the last.
    private let limit: Int
    private let state = Mutex(State())
    private let end = DispatchSemaphore(value: 0)

    init(_ id: UInt32, parts part: ServedFrame.Answer?, limit: Int) {
        (self.id, self.part, self.limit) = (id, part, limit)
    }

    /// - Returns: whether the frame was the last.
    /// - Throws: `.violation` for a frame that does not fit the question.
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
                state.length += frame.length
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

    /// Drops the rest of the answer, which no caller wants any more.
    func forget() {
        state.withLock { state in
            state.isForgotten = true
            state.frames = []
        }
    }

    /// - Returns: the frames before the last, and the content of the last. `nil` after a timeout.
    func answer(within patience: Duration) -> Result<(parts: [ServedFrame], end: [UInt8]), RecordStoreError>? {
        guard end.wait(timeout: .now() + patience / .seconds(1)) == .success else { return nil }
        return state.withLock { state in
            state.outcome?.map { end in
                defer { state.frames = [] }
                return (state.frames, end)
            }
        }
    }
}

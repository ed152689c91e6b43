// SPDX-License-Identifier: Apache-2.0
internal import Dispatch

/// A descriptor that is watched until it is let go. Every thread may use it: Dispatch's objects have locks of their
/// own, which their types do not say.
final class DoorSource: @unchecked Sendable {
    private let source: any DispatchSourceRead

    /// - Parameters:
    ///   - readable: called on the queue for as long as there is something to read.
    ///   - gone: called once, when the descriptor is not watched any more and may be closed.
    init(
        _ descriptor: Int32, on label: String, readable: @escaping @Sendable (DoorSource) -> Void,
        gone: @escaping @Sendable () -> Void
    ) {
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: label))
        source.setEventHandler { [weak self] in if let self { readable(self) } }
        source.setCancelHandler(handler: gone)
    }

    func start() { source.activate() }

    func end() { source.cancel() }
}

/// A moment at which something is to be done, which may be moved.
final class DoorTimer: @unchecked Sendable {
    private let source: any DispatchSourceTimer

    init(on label: String) { source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: label)) }

    deinit { source.cancel() }

    func start(_ body: @escaping @Sendable () -> Void) {
        source.setEventHandler(handler: body)
        source.schedule(wallDeadline: .distantFuture)
        source.activate()
    }

    /// - Parameter left: nil: never.
    func move(to left: Duration?) {
        guard let left else { return source.schedule(wallDeadline: .distantFuture) }
        // By the clock of the wall, which goes on while the machine sleeps.
        let milliseconds = Int(clamping: Int64(max(left, .zero) / .milliseconds(1)) + 1)
        source.schedule(wallDeadline: .now() + .milliseconds(milliseconds))
    }

    func end() { source.cancel() }
}

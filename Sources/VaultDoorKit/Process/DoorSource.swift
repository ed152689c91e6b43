// SPDX-License-Identifier: Apache-2.0
internal import Dispatch

/// Watches a descriptor until it is cancelled. Safe to use from every thread: Dispatch's objects have locks of their
/// own, which their types do not declare.
package final class DoorSource: @unchecked Sendable {
    private let source: any DispatchSourceRead

    /// - Parameters:
    ///   - readable: called on the queue for as long as there are bytes to read.
    ///   - gone: called once, when the descriptor is no longer watched and may be closed.
    package init(
        _ descriptor: Int32, on label: String, readable: @escaping @Sendable (DoorSource) -> Void,
        gone: @escaping @Sendable () -> Void
    ) {
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: label))
        source.setEventHandler { [weak self] in if let self { readable(self) } }
        source.setCancelHandler(handler: gone)
    }

    package func start() { source.activate() }

    package func end() { source.cancel() }
}

/// A timer with a deadline that can be moved.
package final class DoorTimer: @unchecked Sendable {
    private let source: any DispatchSourceTimer

    package init(on label: String) { source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: label)) }

    deinit { source.cancel() }

    package func start(_ body: @escaping @Sendable () -> Void) {
        source.setEventHandler(handler: body)
        source.schedule(wallDeadline: .distantFuture)
        source.activate()
    }

    /// - Parameter left: the time until the deadline; `nil` for none.
    package func move(to left: Duration?) {
        guard let left else { return source.schedule(wallDeadline: .distantFuture) }
        // Wall-clock time, which goes on while the machine sleeps.
        let milliseconds = Int(clamping: Int64(max(left, .zero) / .milliseconds(1)) + 1)
        source.schedule(wallDeadline: .now() + .milliseconds(milliseconds))
    }

    package func end() { source.cancel() }
}

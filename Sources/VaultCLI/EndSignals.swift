// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc

/// Handles SIGTERM and SIGINT, to end the process in an orderly way, and SIGHUP, the hang-up of the terminal.
final class EndSignals {
    private let sources: [any DispatchSourceSignal]

    /// - Parameters:
    ///   - hungUp: handles SIGHUP, which otherwise ends the process as well.
    ///   - ended: called on a thread of its own.
    init(hungUp: (@Sendable () -> Void)? = nil, _ ended: @escaping @Sendable () -> Void) {
        let (queue, registered) = (DispatchQueue(label: "signals"), DispatchGroup())
        clinux_hold_end_signals()
        defer { clinux_release_end_signals() }
        sources = [SIGTERM, SIGINT, SIGHUP].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: number == SIGHUP ? hungUp ?? ended : ended)
            registered.enter()
            source.setRegistrationHandler { registered.leave() }
            source.activate()
            return source
        }
        // A source is registered by another thread; a signal before that would find no handler.
        registered.wait()
    }
}

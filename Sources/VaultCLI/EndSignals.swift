// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc

/// Handles SIGTERM, SIGINT, and the hang-up of the terminal, to end the process in an orderly way.
final class EndSignals {
    private let sources: [any DispatchSourceSignal]

    init(_ ended: @escaping @Sendable () -> Void) {
        clinux_ignore_agent_signals()
        sources = [SIGTERM, SIGINT, SIGHUP].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: ended)
            source.activate()
            return source
        }
    }
}

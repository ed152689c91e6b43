// SPDX-License-Identifier: Apache-2.0
internal import CBus
internal import Dispatch

/// Events of logind on the system bus: the machine goes to sleep, or the user's session is locked.
///
/// A sleep waits until the keys are wiped, because the agent holds one of logind's delay locks.
final class SystemEvents: @unchecked Sendable {
    private let source: any DispatchSourceRead

    /// Fails without logind, or without a library to reach it.
    init?(report: @escaping @Sendable (String) -> Void, _ lock: @escaping @Sendable () -> Void) {
        let descriptor = cbus_logind_open()
        guard descriptor >= 0 else {
            report("no locking before a sleep or with the session: the system's bus or logind cannot be reached")
            return nil
        }
        let queue = DispatchQueue(label: "logind")
        source = DispatchSource.makeReadSource(fileDescriptor: Int32(descriptor), queue: queue)
        source.setEventHandler { [weak self] in
            guard !SystemEvents.takeUp(lock) else { return }
            report("logind does not answer any more")
            self?.source.cancel()
        }
        source.activate()
        // Events that arrived with the answers to the first calls no longer make the descriptor readable.
        queue.async { _ = SystemEvents.takeUp(lock) }
    }

    /// Handles all pending events. Returns `false` if there will be no more.
    private static func takeUp(_ lock: () -> Void) -> Bool {
        while true {
            switch cbus_logind_next() {
            case 1: lock()
            case 2:
                lock()
                cbus_logind_let_sleep()
            case 3: cbus_logind_delay_sleep()
            case 0: return true
            default: return false
            }
        }
    }

    deinit { source.cancel() }
}

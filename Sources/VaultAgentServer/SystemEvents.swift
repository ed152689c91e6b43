// SPDX-License-Identifier: Apache-2.0
internal import CBus
internal import Dispatch

/// The machine goes to sleep, or the user's session is locked: logind says so on the system's bus.
///
/// Before a sleep the machine waits until the keys are wiped: the agent holds one of logind's delay locks meanwhile.
// A source may be cancelled from any thread, although Dispatch on Linux does not say so.
final class SystemEvents: @unchecked Sendable {
    private let source: any DispatchSourceRead

    /// Nil: there is no logind here, or no library to talk to it with.
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
        // What came with the answers to the first calls makes nothing readable any more.
        queue.async { _ = SystemEvents.takeUp(lock) }
    }

    /// Acts on all that has come. Returns false when nothing will come any more.
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

// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import VaultDoorKit

extension SSHClock {
    static let system = SSHClock(
        now: { .now }, seconds: { UInt64(max(0, Date.now.timeIntervalSince1970)) },
        wait: { end in
            let left = ContinuousClock.now.duration(to: end)
            if left > .zero { usleep(useconds_t(clamping: Int64(left / .microseconds(1)))) }
        })
}

/// A client's connection, while its request is being answered.
struct SSHLine: Sendable {
    /// The descriptor; `nil` for a connection that cannot end.
    var descriptor: Int32?

    /// Runs a question to the user, and cancels it when the client disconnects.
    ///
    /// - Returns: the result; `nil` if no descriptors are available.
    func watched<R>(_ body: (PromptStop) -> R) -> R? {
        guard let stop = PromptStop() else { return nil }
        guard let descriptor else { return body(stop) }
        let ended = DispatchSemaphore(value: 0)
        let watch = DoorSource(descriptor, on: "vault.ssh.line") { source in
            var byte: UInt8 = 0
            if unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0 { stop.stop() }
            // A client that has sent another request is alive; the watch ends, since the socket stays readable.
            source.end()
        } gone: {
            ended.signal()
        }
        watch.start()
        defer {
            watch.end()
            // Once this returns, the descriptor may be closed, and its number reused.
            ended.wait()
        }
        return body(stop)
    }
}

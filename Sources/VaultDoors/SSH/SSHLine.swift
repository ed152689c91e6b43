// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import FoundationEssentials
internal import Glibc

extension SSHClock {
    static let system = SSHClock(
        now: { .now }, seconds: { UInt64(max(0, Date.now.timeIntervalSince1970)) },
        wait: { end in
            let left = ContinuousClock.now.duration(to: end)
            if left > .zero { usleep(useconds_t(clamping: Int64(left / .microseconds(1)))) }
        })
}

/// A client's connection, while its request is answered.
struct SSHLine: Sendable {
    /// Nil: none that could end.
    var descriptor: Int32?

    /// Runs what asks a person, and ends the question when the client goes away.
    ///
    /// - Returns: nil when there are no descriptors for that.
    func watched<R>(_ body: (PromptStop) -> R) -> R? {
        guard let stop = PromptStop() else { return nil }
        guard let descriptor else { return body(stop) }
        let ended = DispatchSemaphore(value: 0)
        let watch = DoorSource(descriptor, on: "vault.ssh.line") { source in
            var byte: UInt8 = 0
            if unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0 { stop.stop() }
            // One that has asked on is there, and is not looked at again and again.
            source.end()
        } gone: {
            ended.signal()
        }
        watch.start()
        defer {
            watch.end()
            // The descriptor may be closed, and its number another's, as soon as this returns.
            ended.wait()
        }
        return body(stop)
    }
}

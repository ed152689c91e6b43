// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// The clock CLOCK_BOOTTIME, which continues while the machine sleeps.
package struct BootClock: AgentClock {
    package init() {}

    package var now: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    package func sleep(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        unsafe nanosleep(&time, nil)
    }
}

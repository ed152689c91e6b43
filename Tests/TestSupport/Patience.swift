// SPDX-License-Identifier: Apache-2.0
public import Dispatch

/// The timeout of a test that waits for an event. On a busy disk an fsync can take minutes; only a failing test waits
/// for the whole timeout.
public enum Patience {
    public static let duration = Duration.seconds(600)
    /// The end of the timeout, counted from now.
    public static var end: ContinuousClock.Instant { .now + duration }
    public static var deadline: DispatchTime { .now() + .seconds(Int(duration.components.seconds)) }
}

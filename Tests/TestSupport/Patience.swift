// SPDX-License-Identifier: Apache-2.0
public import Dispatch

/// How long a test waits for what has to come. A disk that others keep busy can take minutes for an fsync; only a
/// failure waits to the end.
public enum Patience {
    public static let duration = Duration.seconds(600)
    /// From now on.
    public static var end: ContinuousClock.Instant { .now + duration }
    public static var deadline: DispatchTime { .now() + .seconds(Int(duration.components.seconds)) }
}

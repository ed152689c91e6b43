// SPDX-License-Identifier: Apache-2.0
public import Dispatch
import Foundation

/// The timeout of a test that waits for an event. On a busy disk an fsync can take minutes; only a failing test waits
/// for the whole timeout.
public enum Patience {
    public static let duration = Duration.seconds(600)
    /// The end of the timeout, counted from now.
    public static var end: ContinuousClock.Instant { .now + duration }
    public static var deadline: DispatchTime { .now() + .seconds(Int(duration.components.seconds)) }

    /// Waits for a condition that no event announces: looks every 5 milliseconds, and leaves the processor to others
    /// between two looks.
    ///
    /// - Parameter isHopeless: a condition that ends the waiting early.
    public static func look(
        for condition: () throws -> Bool, unless isHopeless: () -> Bool = { false }
    ) rethrows {
        let end = end
        while try !condition(), !isHopeless(), .now < end { usleep(5_000) }
    }
}

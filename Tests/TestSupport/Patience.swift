// SPDX-License-Identifier: Apache-2.0
package import Dispatch
import Foundation

/// The timeout of a test that waits for an event. On a busy disk an fsync can take minutes; only a failing test waits
/// for the whole timeout.
package enum Patience {
    package static let duration = Duration.seconds(600)
    /// The end of the timeout, counted from now.
    package static var end: ContinuousClock.Instant { .now + duration }
    package static var deadline: DispatchTime { .now() + .seconds(Int(duration.components.seconds)) }

    /// Waits for a condition that no event announces: looks every 5 milliseconds, and leaves the processor to others
    /// between two looks.
    ///
    /// - Parameter isHopeless: a condition that ends the waiting early.
    package static func look(
        for condition: () throws -> Bool, unless isHopeless: () -> Bool = { false }
    ) rethrows {
        let end = end
        while try !condition(), !isHopeless(), .now < end { usleep(5_000) }
    }
}

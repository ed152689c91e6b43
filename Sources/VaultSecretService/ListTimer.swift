// SPDX-License-Identifier: Apache-2.0

/// Schedules the signals with whole lists: programs expect whole lists, and their cost grows with the number of items.
struct ListTimer {
    /// The views whose lists are to be sent.
    private var waiting: Set<ObjectIdentifier> = []
    /// The time of the last signal for each view.
    private var sent: [ObjectIdentifier: ContinuousClock.Instant] = [:]

    static let afterChange = Duration.milliseconds(250)
    private static let between = Duration.seconds(1)

    /// - Returns: the time after which a view's lists are due; `nil` if they are scheduled already.
    mutating func schedule(_ view: ObjectIdentifier) -> Duration? {
        guard waiting.insert(view).inserted else { return nil }
        let rest = sent[view].map { $0 + ListTimer.between - .now } ?? .zero
        return max(ListTimer.afterChange, rest)
    }

    /// Notes that the scheduled time has come.
    ///
    /// - Parameter isOpen: whether the view still exists, and its lists are sent now.
    mutating func end(_ view: ObjectIdentifier, isOpen: Bool) {
        waiting.remove(view)
        sent[view] = isOpen ? .now : nil
    }
}

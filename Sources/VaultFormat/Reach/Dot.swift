// SPDX-License-Identifier: Apache-2.0

/// The name of a write, ordered by the stamp, then the log.
@usableFromInline package struct Dot: Hashable, Comparable, Sendable {
    /// The valid stamps, up to the year 6429, such that there is always a next one.
    package static let stamps: ClosedRange<UInt64> = 1...UInt64(Int64.max)

    @usableFromInline package let log: LogID
    /// Milliseconds since 1970 << 16 | counter; one of ``stamps``.
    @usableFromInline package let stamp: UInt64

    package init(log: LogID, stamp: UInt64) { (self.log, self.stamp) = (log, stamp) }

    @usableFromInline package static func < (a: Dot, b: Dot) -> Bool { (a.stamp, a.log) < (b.stamp, b.log) }
}

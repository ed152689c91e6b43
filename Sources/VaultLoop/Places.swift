// SPDX-License-Identifier: Apache-2.0

/// A connection that occupies one of a listener's ``Places``.
package protocol PlaceHolder: AnyObject {
    var claim: PlaceClaim { get }
    var use: Places.Use { get }
    /// The time of the last request, or of the connection.
    var lastUse: SuspendingClock.Instant { get }
}

/// The process that holds a place. Belongs to the thread of the listener's loop.
package final class PlaceClaim {
    /// The number of the process that connected.
    package let process: Int32
    package let since: ContinuousClock.Instant
    /// The process's systemd unit, read when it first matters; `.some(nil)` if it has none.
    fileprivate var unit: String??

    package init(_ process: Int32, since: ContinuousClock.Instant = .now) {
        (self.process, self.since) = (process, since)
    }
}

/// The places of a listener, and the rule by which they are shared: a process keeps no other process out, however many
/// connections it makes and however often it uses them.
///
/// Free places are for all. When none is free, a connection gives way to the new one:
///
/// 1. A process beyond its share gives up one of its own, or else the new one is turned away.
/// 2. For a process within its share, the process with the most connections of those beyond their share gives way;
///    without one, the systemd unit with the most, and in that the process with the most. A program that starts many
///    processes is one unit still.
/// 3. Of the connections of a process, the one of the least ``Use`` gives way, and of these the oldest. While the
///    listener or a person works for a connection, only a process beyond its share loses it.
package struct Places: Sendable {
    /// The use of a connection to its client. Lesser ones give way first.
    package enum Use: Int, Sendable, Comparable {
        /// The client has not said what it wants, or may do nothing.
        case none
        /// The client has its answers, and connects again when necessary.
        case idle
        /// The client has yet to send or read the rest of something, or would miss what the connection carries.
        case held
        /// The listener, or a person, works for the client.
        case busy

        package static func < (a: Use, b: Use) -> Bool { a.rawValue < b.rawValue }
    }

    /// The processes of the machine.
    package struct Processes: Sendable {
        /// The time since the start of a process; `nil` if it has ended.
        let age: @Sendable (Int32) -> Duration?
        let unit: @Sendable (Int32) -> String?

        package init(
            age: @escaping @Sendable (Int32) -> Duration?, unit: @escaping @Sendable (Int32) -> String?
        ) { (self.age, self.unit) = (age, unit) }
    }

    /// The maximum number of connections.
    package let most: Int
    /// The number of connections that a process does not lose to another process beyond its own share.
    package let share: Int
    private let processes: Processes

    /// - Parameter share: a quarter of the places by default, so that no three processes fill them.
    package init(most: Int, share: Int? = nil, _ processes: Processes) {
        (self.most, self.share, self.processes) = (most, share ?? max(1, most / 4), processes)
    }

    /// A process; `isFormer` for an earlier one with the same number, whose connections other processes may hold.
    private struct Owner: Hashable {
        let process: Int32
        var isFormer = false
    }

    private func owners(_ holders: [some PlaceHolder]) -> [Owner] {
        let counts = holders.reduce(into: [Int32: Int]()) { $0[$1.claim.process, default: 0] += 1 }
        // Looked up only where the identity matters.
        let starts = counts.filter { $0.value > share }.keys.reduce(into: [Int32: ContinuousClock.Instant]()) {
            $0[$1] = processes.age($1).map { .now - $0 }
        }
        return holders.map { holder in
            let start = starts[holder.claim.process]
            return Owner(process: holder.claim.process, isFormer: start.map { holder.claim.since < $0 } ?? false)
        }
    }

    /// Returns whether a new connection of some process might get a place.
    package func canAdmit(to holders: [some PlaceHolder]) -> Bool {
        guard holders.count >= most, !holders.contains(where: { $0.use < .busy }) else { return true }
        let counts = owners(holders).reduce(into: [Owner: Int]()) { $0[$1, default: 0] += 1 }
        return counts.values.contains { $0 > share }
    }

    /// Returns the connection that gives way when there are more than ``most``.
    ///
    /// - Parameters:
    ///   - new: the newest connection, which is the result if it is turned away.
    ///   - holders: all connections with the newest one, without those that are ending.
    package func yielding<Holder: PlaceHolder>(to new: Holder, among holders: [Holder]) -> Holder {
        let owners = owners(holders)
        let counts = owners.reduce(into: [Owner: Int]()) { $0[$1, default: 0] += 1 }
        let own = holders.firstIndex { $0 === new }.map { owners[$0] } ?? Owner(process: new.claim.process)
        let others = zip(holders, owners).map { (holder: $0, owner: $1, count: counts[$1] ?? 0) }
            .filter { $0.holder !== new }
        let free = others.filter { $0.holder.use < .busy }
        if counts[own] ?? 0 > share {
            return free.filter { $0.owner == own }.min { Places.isLess($0.holder, $1.holder) }?.holder ?? new
        }
        let greedy = free.filter { $0.count > share }
        if !greedy.isEmpty {
            let most = greedy.map(\.count).max()
            return greedy.filter { $0.count == most }.min { Places.isLess($0.holder, $1.holder) }?.holder ?? new
        }
        guard free.isEmpty else {
            let units = others.reduce(into: [String?: Int]()) { $0[unit($1.holder.claim), default: 0] += 1 }
            return free.map { (holder: $0.holder, count: $0.count, unit: units[unit($0.holder.claim)] ?? 0) }.min {
                if $0.unit != $1.unit { return $0.unit > $1.unit }
                let uses = (Places.use($0.holder), Places.use($1.holder))
                if uses.0 != uses.1 { return uses.0 < uses.1 }
                return $0.count == $1.count ? $0.holder.lastUse < $1.holder.lastUse : $0.count > $1.count
            }?.holder ?? new
        }
        // The newest has lost the least work.
        let busiest = others.filter { $0.count > share }
            .max { ($0.count, $0.holder.lastUse) < ($1.count, $1.holder.lastUse) }
        return busiest?.holder ?? new
    }

    /// The time that a new client has to say what it wants: it must not give way to the next one before.
    private static let greeting = Duration.seconds(1)

    private static func use(_ holder: some PlaceHolder) -> Use {
        holder.use == .none && .now - holder.claim.since < greeting ? .idle : holder.use
    }

    private static func isLess(_ a: some PlaceHolder, _ b: some PlaceHolder) -> Bool {
        let (useOfA, useOfB) = (use(a), use(b))
        return useOfA == useOfB ? a.lastUse < b.lastUse : useOfA < useOfB
    }

    private func unit(_ claim: PlaceClaim) -> String? {
        let unit = claim.unit ?? processes.unit(claim.process)
        claim.unit = .some(unit)
        return unit
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

/// The refusals of the last minute. The log has a line for the first of a process and reason, and one with the number
/// of the others: a program with no rights must not fill the disk, or drive other lines out of the log.
struct RepeatedRefusals {
    struct Key: Hashable {
        var process: Int32
        /// The process that spoke for it.
        var door: Int32?
        var reason: String
    }

    private struct Repeated {
        var entry: AuditLog.Entry
        let start: Date
        var last: Date
        var count = 0
    }

    private var repeated: [Key: Repeated] = [:]
    /// The refusals of further processes.
    private var others: Repeated?

    /// In seconds.
    private static let window = 60.0
    /// The most processes and reasons a minute that have lines of their own.
    static let mostKeys = 16

    /// Counts a refusal.
    ///
    /// - Returns: the line to write, if this is the first.
    mutating func note(_ key: Key, at now: Date, _ entry: () -> AuditLog.Entry) -> AuditLog.Entry? {
        if repeated[key] != nil {
            repeated[key]?.count += 1
            repeated[key]?.last = now
        } else if repeated.count < RepeatedRefusals.mostKeys {
            let entry = entry()
            repeated[key] = Repeated(entry: entry, start: now, last: now)
            return entry
        } else {
            if others == nil {
                var entry = entry()
                (entry.pid, entry.executable, entry.unit, entry.flatpak, entry.via) = (0, nil, nil, nil, nil)
                entry.error = "more processes than the log names in a minute"
                others = Repeated(entry: entry, start: now, last: now)
            }
            others?.count += 1
            others?.last = now
        }
        return nil
    }

    /// Returns the lines with the numbers of the refusals whose minute is over.
    ///
    /// - Parameter all: whether to end every minute now.
    mutating func due(at now: Date, all: Bool = false) -> [AuditLog.Entry] {
        func isOver(_ repeated: Repeated) -> Bool {
            // Also after the clock was set back.
            all || abs(now.timeIntervalSince(repeated.start)) >= RepeatedRefusals.window
        }
        guard others.map(isOver) == true || repeated.values.contains(where: isOver) else { return [] }
        var over = repeated.values.filter(isOver)
        repeated = repeated.filter { !isOver($0.value) }
        if let others, isOver(others) {
            over.append(others)
            self.others = nil
        }
        return over.filter { $0.count > 0 }.sorted { $0.last < $1.last }.map { repeated in
            var entry = repeated.entry
            (entry.time, entry.count) = (AuditLog.Entry.text(repeated.last), repeated.count)
            return entry
        }
    }
}

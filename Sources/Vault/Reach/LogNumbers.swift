// SPDX-License-Identifier: Apache-2.0
package import VaultFormat
internal import VaultStorage

/// The names of logs, which this file refers to by number.
package struct LogNumbers: Equatable, Sendable {
    package private(set) var logs: [UInt16: LogID] = [:]
    private var numbers: [LogID: UInt16] = [:]
    /// Numbers that no record defines yet.
    package private(set) var unsaved: Set<UInt16> = []

    package init() {}

    package subscript(number: UInt16) -> LogID? { logs[number] }

    package func number(of log: LogID) -> UInt16? { numbers[log] }

    package mutating func set(_ number: UInt16, _ log: LogID) { (logs[number], numbers[log]) = (log, number) }

    /// Returns the number of a log, assigning a new one if necessary.
    ///
    /// - Returns: `nil` if all 65,536 are taken.
    package mutating func makeNumber(of log: LogID) -> UInt16? {
        if let number = numbers[log] { return number }
        guard logs.count <= Int(UInt16.max) else { return nil }
        var next = UInt16(truncatingIfNeeded: logs.count)
        while logs[next] != nil { next &+= 1 }
        set(next, log)
        unsaved.insert(next)
        return next
    }

    func dot(_ local: LocalDot) -> Dot? { logs[local.number].map { Dot(log: $0, stamp: local.stamp) } }
}

extension ItemClock {
    /// The marks of the writes of a field; a field without marks has the base write only.
    package func marks(of field: FieldID) -> [ClockMark] {
        fields[field] ?? [ClockMark(dot: base, mark: field == .life ? .alive : .here)]
    }

    package var isAlive: Bool { marks(of: .life).contains { $0.mark == .alive } }

    /// The greatest dot of the life field's marks.
    func greatestLife(_ logs: LogNumbers) -> Dot? { marks(of: .life).compactMap { logs.dot($0.dot) }.max() }

    mutating func see(_ dot: LocalDot) { context[dot.number] = max(context[dot.number], dot.stamp) }
}

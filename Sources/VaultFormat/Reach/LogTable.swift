// SPDX-License-Identifier: Apache-2.0

/// The table of logs that the clocks of an entry's items refer to by index.
package struct LogTable: Sendable {
    static let entryLength = 16

    /// In ascending order, each once.
    package let logs: [LogID]
    private var isUsed: [Bool]

    /// Makes the table of the logs that items name, all of which are in the contexts.
    init<Secret>(of items: [ItemState<Secret>]) {
        var logs: Set<LogID> = []
        for item in items { logs.formUnion(item.context.keys) }
        self.logs = logs.sorted()
        isUsed = []
    }

    init(parsing reader: inout SpanReader, of body: Span<UInt8>, count: Int) throws(FormatError) {
        try reader.expect(count, of: LogTable.entryLength, .logs)
        var logs: [LogID] = []
        logs.reserveCapacity(count)
        for _ in 0..<count {
            let log = try reader.sixteen(of: body, .logs)
            if let last = logs.last, last >= log { throw .invalid(.logs) }
            logs.append(log)
        }
        self.logs = logs
        isUsed = Array(repeating: false, count: count)
    }

    /// The log of an encoded index.
    mutating func log(at index: UInt16) throws(FormatError) -> LogID {
        guard Int(index) < logs.count else { throw .invalid(.dot) }
        isUsed[Int(index)] = true
        return logs[Int(index)]
    }

    /// Checks that every listed log is used.
    func expectAllUsed() throws(FormatError) {
        guard isUsed.allSatisfy(\.self) else { throw .invalid(.logs) }
    }

    /// - Throws: `.outOfBounds(.logs)` for more logs than an entry can name.
    func indexes() throws(FormatError) -> [LogID: UInt16] {
        guard logs.count <= Int(UInt16.max) else { throw .outOfBounds(.logs) }
        return Dictionary(zip(logs, 0..<UInt16(logs.count))) { first, _ in first }
    }
}

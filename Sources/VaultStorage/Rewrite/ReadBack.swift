// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// Whether frames have the intended operations: compares each as appended with each as read from the file, in order.
struct ReadBack: Sendable {
    private let expected: [FrameBuilder.Pending]
    /// The offsets of the values in the file, by operation; `nil` where the appended operation has the offset.
    private var offsets: [UInt64?]
    private var found = 0
    private var differs = false

    init(of expected: [FrameBuilder.Pending]) {
        self.expected = expected
        offsets = [UInt64?](repeating: nil, count: expected.count)
    }

    mutating func setOffset(_ offset: UInt64, of index: Int) { offsets[index] = offset }

    mutating func find(_ operation: Span<UInt8>) {
        defer { found += 1 }
        guard found < expected.count else { return differs = true }
        if !isExpected(operation) { differs = true }
    }

    /// Whether every operation was found, and nothing else.
    var isComplete: Bool { !differs && found == expected.count }

    private func isExpected(_ operation: Span<UInt8>) -> Bool {
        let intended = expected[found].operation
        let offset = offsets[found] ?? Operation.offset(of: intended.span)
        guard Operation.offset(of: operation) == offset else { return false }
        return Operation.isEqualButOffset(operation, intended.span)
    }
}

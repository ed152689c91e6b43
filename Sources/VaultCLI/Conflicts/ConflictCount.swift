// SPDX-License-Identifier: Apache-2.0

/// The number of conflicts, as mentioned in the output of other commands.
enum ConflictCount {
    static func text(_ count: UInt64) -> String { "\(count) \(count == 1 ? "conflict" : "conflicts")" + hint }

    /// The number alone, with the hint unless it is 0.
    static func number(_ count: UInt64) -> String { "\(count)" + (count == 0 ? "" : hint) }

    private static let hint = ": see 'vault conflicts'"
}

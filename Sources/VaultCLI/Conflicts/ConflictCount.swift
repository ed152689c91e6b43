// SPDX-License-Identifier: Apache-2.0

/// How many conflicts there are, as commands say it that are about something else.
enum ConflictCount {
    static func text(_ count: UInt64) -> String { "\(count) \(count == 1 ? "conflict" : "conflicts")" + hint }

    /// The number alone, with the hint where it is not 0.
    static func number(_ count: UInt64) -> String { "\(count)" + (count == 0 ? "" : hint) }

    private static let hint = ": see 'vault conflicts'"
}

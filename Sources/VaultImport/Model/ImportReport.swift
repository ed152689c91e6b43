// SPDX-License-Identifier: Apache-2.0

/// The planned or actual outcome for each entry of an import.
package struct ImportReport: Sendable {
    package enum Outcome: String, CaseIterable, Sendable {
        case added, updated, unchanged
        /// Changed both here and at the source, or the key belongs to another item: left unchanged.
        case differs
        case skipped
    }

    package struct Line: Sendable {
        package let place: String
        /// The number of the entry among those that were read; `nil` for one that was not.
        package let login: Int?
        /// The service or server, and the account, as attributes of an item: not yet escaped for a terminal.
        package let service: String
        package let account: String
        /// The `FORMAT:ID` of the item; empty if there is no item.
        package let source: String
        package var outcome: Outcome
        package var reason: String?
    }

    package var lines: [Line] = []
    /// Further things to report of the source as a whole; may have names from it, not yet escaped for a terminal.
    package internal(set) var remarks: [String] = []
    /// The numbers of parts that were not imported, by name.
    package internal(set) var lost: [String: Int] = [:]
    /// The numbers of parts without content of their own, such as icons, that were not imported, by name.
    package internal(set) var looks: [String: Int] = [:]
    /// Whether another file's items have the name that these would get.
    package internal(set) var needsName = false
    package internal(set) var missedPasswords = 0
    /// The items on which programs rely, which the import of a backup adds.
    package var reserved: [String] = []
    /// The number of protection classes and groups that the source states, and a backup alone may.
    package var refused = 0
    package var olderVersions = 0
    /// The number of older passwords, which become older versions of the items.
    package var olderPasswords = 0
    /// The item with the most older passwords; `nil` if there are none.
    package var longestHistory: (source: String, count: Int)?

    /// Whether a login or a part with content was not taken, or differs.
    package var hasFindings: Bool { count(.differs) + count(.skipped) + missedPasswords > 0 || !lost.isEmpty }

    package func count(_ outcome: Outcome) -> Int { lines.count { $0.outcome == outcome } }
}

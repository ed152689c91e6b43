// SPDX-License-Identifier: Apache-2.0

/// What becomes, or became, of each entry of an import.
package struct ImportReport: Sendable {
    package enum Outcome: String, CaseIterable, Sendable {
        case added, updated, unchanged
        /// Changed here and at the source, or another item has its key: it was left as it is.
        case differs
        case skipped
    }

    package struct Line: Sendable {
        /// Such as "line 3".
        package let place: String
        /// The service or server, and the account, as attributes of an item: not yet fit for a terminal.
        package let service: String
        package let account: String
        /// `FORMAT:ID` of the item; empty for what became none.
        package let source: String
        package var outcome: Outcome
        package var reason: String?
    }

    package var lines: [Line] = []
    /// Older versions of entries, which stay where they are.
    package var olderVersions = 0
    /// Older passwords, which become older versions of the items.
    package var olderPasswords = 0
    /// The item of which most of them came. Nil: none came.
    package var longestHistory: (source: String, count: Int)?

    package func count(_ outcome: Outcome) -> Int { lines.count { $0.outcome == outcome } }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault

/// The table of items printed by `find`, with access groups only if there are several, or if one is an application's,
/// whose items a command takes only from a group that the user names.
struct ItemTable {
    private let headings: [String]
    private let rows: [[String]]
    private static let gap = 2
    /// The minimum width of a column when the table is narrowed.
    private static let leastWidth = 6

    init(_ items: [Item]) {
        let hasGroups =
            Set(items.map { $0[.accessGroup]?.text ?? "" }).count > 1 || items.contains { $0.applicationGroup != nil }
        headings = ["SERVICE", "ACCOUNT", "LABEL", "CLASS"] + (hasGroups ? ["GROUP"] : [])
        rows = items.map { item in
            var row = [
                item.serviceName, item.accountName, item[.label]?.displayText ?? "",
                ClassOption(item.itemClass).rawValue,
            ]
            if hasGroups { row.append(item[.accessGroup]?.text ?? "") }
            return row.map(\.printable)
        }
    }

    static func precedes(_ a: Item, _ b: Item) -> Bool { key(a).lexicographicallyPrecedes(key(b)) }

    private static func key(_ item: Item) -> [String] {
        [item.serviceName.lowercased(), item.accountName.lowercased()]
    }

    /// Writes the table to standard output: aligned for a terminal, else as lines.
    func write() throws {
        guard Terminal.isTerminal(STDOUT_FILENO) else { return try Output.write(lines) }
        try Pager.show(text(width: Terminal.width(of: STDOUT_FILENO)))
    }

    /// The items, one per line, with columns separated by tabs.
    var lines: String { rows.map { $0.joined(separator: "\t") + "\n" }.joined() }

    /// - Parameter width: the width of the terminal, in characters, to which text is truncated with an ellipsis; 0 for
    ///   no limit.
    func text(width: Int) -> String {
        let all = [headings] + rows
        var widths = headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        // The class is the least informative column.
        let classColumn = 3
        if width > 0 {
            var excess = widths.reduce(0, +) + ItemTable.gap * (widths.count - 1) - width
            if excess > 0 {
                excess -= widths[classColumn] + ItemTable.gap
                widths[classColumn] = 0
            }
            while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
                widths[widest] > ItemTable.leastWidth
            {
                widths[widest] -= 1
                excess -= 1
            }
        }
        let shown = widths.indices.filter { widths[$0] > 0 }
        return all.map { row in
            var line = ""
            for column in shown {
                let text = ItemTable.cut(row[column], to: widths[column])
                line += text
                if column != shown.last {
                    line += String(repeating: " ", count: widths[column] - text.count + ItemTable.gap)
                }
            }
            return line + "\n"
        }.joined()
    }

    private static func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(max(0, width - 1)) + "…"
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault

/// The table of items printed by `find`, with access groups only if there are several, or if one is an application's,
/// whose items a command takes only from a group that the user names.
///
/// A person sees the parts of each item's face, in their order. Programs rely on the items' attributes, in the order of
/// the search.
struct ItemTable {
    private let items: [Item]
    private let hasGroups: Bool
    private static let gap = 2
    /// The minimum width of a column when the table is narrowed.
    private static let leastWidth = 6

    init(_ items: [Item]) {
        self.items = items
        hasGroups =
            Set(items.map { $0[.accessGroup]?.text ?? "" }).count > 1 || items.contains { $0.applicationGroup != nil }
    }

    private func row(_ item: Item, _ names: [String]) -> [String] {
        let group = hasGroups ? [item[.accessGroup]?.text ?? ""] : []
        return (names + [ClassOption(item.itemClass).rawValue] + group).map(\.printable)
    }

    /// Writes the table to standard output: aligned for a terminal, else as lines.
    func write() throws {
        guard Terminal.isTerminal(STDOUT_FILENO) else { return try Output.write(lines) }
        try Pager.show(text(width: Terminal.width(of: STDOUT_FILENO)))
    }

    /// The items, one per line, with columns separated by tabs.
    var lines: String {
        items.map { item in
            let names = [item.serviceName, item.accountName, item[.label]?.displayText ?? ""]
            return row(item, names).joined(separator: "\t") + "\n"
        }.joined()
    }

    /// The cells that a person sees, sorted by name and user.
    var rows: [[String]] { ItemTable.sorted(items).map { row($0.item, [$0.title, $0.user, $0.place]) } }

    /// Returns the faces of items by name, then by user, in any spelling.
    static func sorted(_ items: [Item]) -> [ItemFace] {
        let faces = items.map { item in
            let face = ItemFace(item)
            return (key: [face.title.lowercased(), face.user.lowercased()], face: face)
        }
        return faces.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.face)
    }

    /// - Parameter width: the width of the terminal, in cells, to which text is truncated with an ellipsis; 0 for
    ///   no limit.
    func text(width: Int) -> String {
        let headings = ["NAME", "USER", "PLACE", "CLASS"] + (hasGroups ? ["GROUP"] : [])
        let all = [headings] + rows
        var widths = headings.indices.map { column in all.map { $0[column].cells }.max() ?? 0 }
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
            var line = shown.map { row[$0].fitted(to: widths[$0]) }
                .joined(separator: String(repeating: " ", count: ItemTable.gap))
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// The state of browsing a vault. Draws rows and handles keys, independently of the terminal.
struct Browser {
    /// An action for the caller to carry out.
    enum Action {
        case quit
        case copy(Item)
        case edit(Item)
        case delete(Item)
        /// Undoes the last deletion.
        case undo
        case reveal(Item)
    }

    private struct Entry {
        let item: Item
        /// The parts that a row shows, each on one line.
        let title, user, place, notes: String
        let text: SearchedText

        init(_ item: Item) {
            let face = ItemFace(item)
            (self.item, text) = (item, SearchedText(face))
            (title, user, place) = (face.title.printable, face.user.printable, face.place.printable)
            notes = face.comment?.printableLines.joined(separator: " ") ?? ""
        }
    }

    private enum Mode {
        case list
        /// The decrypted parts of an item, each with its name.
        case revealed([(name: String, rows: [Secret])])
        case confirmingDelete
    }

    private var entries: [Entry] = []
    /// The matching entries, as indices into `entries`.
    private var matching: [Int] = []
    private(set) var search = ""
    /// An index into `matching`.
    private var selected = 0
    private var top = 0
    private var scroll = 0
    private var mode = Mode.list
    private var size = (rows: 24, columns: 80)
    /// The message below the list; if empty, the keys are shown.
    var message = ""

    /// Shows these items in the given order, and keeps the selection.
    mutating func show(_ items: [Item]) {
        let old = selectedItem?.record?.id
        entries = items.map(Entry.init)
        mode = .list
        filter()
        if let old, let place = matching.firstIndex(where: { entries[$0].item.record?.id == old }) { selected = place }
    }

    mutating func resize(rows: Int, columns: Int) { size = (max(rows, 3), max(columns, 10)) }

    var selectedItem: Item? { matching.indices.contains(selected) ? entries[matching[selected]].item : nil }

    /// The number of matching items.
    var count: Int { matching.count }

    private mutating func filter() {
        let words = SearchWords(search)
        matching = entries.indices.filter { words.areIn(entries[$0].text) }
        // A mistake is forgiven only where it would find nothing.
        if matching.isEmpty { matching = entries.indices.filter { words.areNearlyIn(entries[$0].text) } }
        selected = min(selected, max(0, matching.count - 1))
    }

    /// Shows the secrets of the selected item until the next key press.
    mutating func reveal(_ parts: [(name: String, secret: Secret)]) {
        let width = size.columns - 2
        mode = .revealed(parts.map { ($0.name, BrowsedSecret.rows(of: $0.secret, width: width)) })
        scroll = 0
    }

    mutating func hide() { mode = .list }

    // MARK: Keys

    mutating func take(_ key: Key) -> Action? {
        switch mode {
        case .list: break
        case .revealed:
            switch key {
            case .down: scroll += 1
            case .up: scroll = max(0, scroll - 1)
            case .pageDown: scroll += size.rows - 3
            case .pageUp: scroll = max(0, scroll - size.rows + 3)
            case .control("y"): return selectedItem.map { .copy($0) }
            case .control("c"), .control("q"), .gone: return .quit
            default: mode = .list
            }
            return nil
        case .confirmingDelete:
            mode = .list
            message = ""
            guard case .character("y") = key else { return nil }
            return selectedItem.map { .delete($0) }
        }
        message = ""
        switch key {
        case .up: move(-1)
        case .down: move(1)
        case .pageUp: move(1 - listRows)
        case .pageDown: move(listRows - 1)
        case .home: move(-matching.count)
        case .end: move(matching.count)
        case .enter, .control("r"): return selectedItem.map { .reveal($0) }
        case .control("y"): return selectedItem.map { .copy($0) }
        case .control("e"): return selectedItem.map { .edit($0) }
        case .control("d"), .delete:
            guard let item = selectedItem else { return nil }
            mode = .confirmingDelete
            message = "Delete \(item.phrase(namingGroup: false))? y/n"
        case .control("z"): return .undo
        case .control("u"), .escape:
            guard !search.isEmpty else { return key == .escape ? .quit : nil }
            search = ""
            filter()
        case .backspace:
            guard !search.isEmpty else { return nil }
            search.removeLast()
            filter()
        case .character(let scalar):
            guard !scalar.isObeyed, search.utf8.count < 256 else { return nil }
            search.unicodeScalars.append(scalar)
            selected = 0
            filter()
        case .control("c"), .control("q"), .gone: return .quit
        case .resized, .woken, .control: break
        }
        return nil
    }

    private mutating func move(_ steps: Int) { selected = max(0, min(matching.count - 1, selected + steps)) }

    // MARK: Drawing

    /// The rows between the search line above and the keys below.
    private var listRows: Int { size.rows - 2 }

    var cursor: (row: Int, column: Int) {
        if case .list = mode { (0, min(size.columns - 1, 8 + search.printable.cells)) } else { (size.rows - 1, 0) }
    }

    mutating func rows() -> [Row] {
        if case .revealed(let parts) = mode { return revealedRows(parts) }
        var rows = [heading]
        top = max(0, min(top, matching.count - listRows))
        if selected < top { top = selected }
        if selected >= top + listRows { top = selected - listRows + 1 }
        for index in top..<top + listRows {
            rows.append(matching.indices.contains(index) ? row(index) : Row(""))
        }
        if matching.isEmpty { rows[1] = Row(entries.isEmpty ? "The vault has no items." : "Nothing matches.") }
        return rows + [Row((message.isEmpty ? keys : message).fitted(to: size.columns), .reverse)]
    }

    private var heading: Row {
        let total =
            matching.count == entries.count ? "\(count.grouped)" : "\(count.grouped) of \(entries.count.grouped)"
        let room = size.columns - total.cells - 1
        var row = Row("Search: ", .bold)
        row.parts.append((.text(search.printable.fitted(to: max(0, room - 8))), .plain))
        row.parts.append((.text(" " + total), .plain))
        return row
    }

    private func row(_ index: Int) -> Row {
        let entry = entries[matching[index]]
        // The selection has a visible mark, besides its style.
        let mark = index == selected ? "> " : "  "
        var room = size.columns - 2
        var text = ""
        // A narrow screen leaves out what is furthest to the right, and the title has the most room.
        let columns = [entry.title, entry.user, entry.place, entry.notes].prefix(max(2, room / 20))
        for (place, column) in columns.enumerated() {
            let rest = columns.count - place
            let width = place == 0 ? room * 2 / (rest + 1) : room / rest
            text += rest == 1 ? column.fitted(to: room) : column.fitted(to: width - 2) + "  "
            room -= width
        }
        return Row(mark + text, index == selected ? .reverse : .plain)
    }

    private var keys: String {
        size.columns < 60
            ? "Enter show ^Y copy ^D del Esc quit"
            : "Enter show  ^Y copy  ^E edit  ^D delete  ^Z undo  Esc quit"
    }

    private mutating func revealedRows(_ parts: [(name: String, rows: [Secret])]) -> [Row] {
        var lines: [Row] = []
        for (name, secrets) in parts {
            lines.append(Row(name.fitted(to: size.columns), .bold))
            lines += secrets.map { Row(secret: $0, indent: 2) }
        }
        let room = size.rows - 2
        scroll = max(0, min(scroll, lines.count - room))
        let title = selectedItem?.phrase(namingGroup: false) ?? ""
        var rows = [Row(title.fitted(to: size.columns), .underline)]
        rows += lines[scroll..<min(lines.count, scroll + room)]
        while rows.count < size.rows - 1 { rows.append(Row("")) }
        let more = lines.count > scroll + room ? "  more below" : ""
        return rows + [Row(("any key hides  ^Y copy" + more).fitted(to: size.columns), .reverse)]
    }
}

/// Renders a secret as rows of a screen: escapes what a terminal obeys, and makes no copy in ordinary memory.
enum BrowsedSecret {
    static func rows(of secret: Secret, width: Int) -> [Secret] {
        guard let texts = try? secret.withBytes({ try lines(of: $0, width: max(width, 4)) }) else { return [] }
        return texts
    }

    private static func lines(of bytes: Span<UInt8>, width: Int) throws -> [Secret] {
        guard bytes.isUTF8 else { return [try Secret(copying: "(\(bytes.count.grouped) bytes that are no text)")] }
        guard bytes.count > 0 else { return [try Secret(copying: "(empty)")] }
        var rows: [Secret] = []
        var line = try SecretBuffer(capacity: 8 * width + 16)
        var (cells, length, index) = (0, 0, 0)
        // A character may take bytes without taking a cell.
        func isFull(_ more: Int, _ bytes: Int) -> Bool { cells + more > width || length + bytes > 8 * width }
        func finish(_ line: consuming SecretBuffer) throws { rows.append(Secret(try line.bytes())) }
        while index < bytes.count, rows.count < 10_000 {
            guard let (scalar, count) = bytes.scalar(at: index) else { break }
            let isBreak = scalar == "\n"
            let escape = scalar.isObeyed && !isBreak ? String(scalar).printable : ""
            let more = isBreak ? 0 : escape.isEmpty ? scalar.cells : escape.cells
            if isBreak || isFull(more, escape.isEmpty ? count : escape.utf8.count) {
                var full = try SecretBuffer(capacity: 8 * width + 16)
                swap(&line, &full)
                try finish(full)
                (cells, length) = (0, 0)
            }
            if !escape.isEmpty {
                try line.append(escape.utf8)
                length += escape.utf8.count
            } else if !isBreak {
                for offset in index..<index + count { try line.append(bytes[offset]) }
                length += count
            }
            cells += more
            index += count
        }
        try finish(line)
        return rows
    }
}

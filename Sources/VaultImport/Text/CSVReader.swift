// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Reads comma-separated values (RFC 4180), row by row, in locked memory: with or without a byte order mark, and with
/// lines that end in LF, CRLF or CR.
struct CSVReader {
    struct Cell {
        fileprivate let range: Range<Int>
        fileprivate let hasDoubledQuotes: Bool
    }

    struct Row {
        /// The line of its first cell, from 1.
        let line: Int
        let cells: [Cell]
    }

    private let document: Document
    private var offset: Int
    private var line = 1

    init(_ document: Document) {
        self.document = document
        offset = document.start
    }

    mutating func next() throws(ImportError) -> Row? {
        try document.bytes.withBytes { bytes throws(ImportError) in try read(bytes) }
    }

    private mutating func read(_ bytes: Span<UInt8>) throws(ImportError) -> Row? {
        while offset < bytes.count, CSVReader.endsLine(bytes[offset]) { step(bytes) }
        guard offset < bytes.count else { return nil }
        let start = line
        var cells: [Cell] = []
        while true {
            cells.append(try cell(bytes))
            guard offset < bytes.count, bytes[offset] == UInt8(ascii: ",") else { break }
            offset += 1
        }
        if offset < bytes.count { step(bytes) }
        return Row(line: start, cells: cells)
    }

    private static func endsLine(_ byte: UInt8) -> Bool { byte == 0x0a || byte == 0x0d }

    private mutating func step(_ bytes: Span<UInt8>) {
        if bytes[offset] == 0x0d, offset + 1 < bytes.count, bytes[offset + 1] == 0x0a { offset += 1 }
        offset += 1
        line += 1
    }

    private mutating func cell(_ bytes: Span<UInt8>) throws(ImportError) -> Cell {
        let start = offset
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else {
            while offset < bytes.count, bytes[offset] != UInt8(ascii: ","), !CSVReader.endsLine(bytes[offset]) {
                offset += 1
            }
            return try checked(Cell(range: start..<offset, hasDoubledQuotes: false))
        }
        let firstLine = line
        var hasDoubledQuotes = false
        offset += 1
        while offset < bytes.count {
            if bytes[offset] == UInt8(ascii: "\"") {
                if offset + 1 < bytes.count, bytes[offset + 1] == UInt8(ascii: "\"") {
                    hasDoubledQuotes = true
                    offset += 2
                    continue
                }
                let cell = Cell(range: start + 1..<offset, hasDoubledQuotes: hasDoubledQuotes)
                offset += 1
                guard offset == bytes.count || bytes[offset] == UInt8(ascii: ",") || CSVReader.endsLine(bytes[offset])
                else { throw .line(line, "something follows the quote that ends a field") }
                return try checked(cell)
            }
            if CSVReader.endsLine(bytes[offset]) { step(bytes) } else { offset += 1 }
        }
        throw .line(firstLine, "a quote is left open")
    }

    private func checked(_ cell: Cell) throws(ImportError) -> Cell {
        guard cell.range.count <= Layout.valueLimit else { throw .tooLarge("line \(line)") }
        return cell
    }

    func text(_ cell: Cell) -> String {
        let text = document.text(cell.range)
        return cell.hasDoubledQuotes ? text.replacing("\"\"", with: "\"") : text
    }

    func secret(_ cell: Cell) throws(ImportError) -> Secret? {
        guard !cell.range.isEmpty else { return nil }
        guard cell.hasDoubledQuotes else { return try document.secret(cell.range) }
        return try Secret.assembled(capacity: cell.range.count) { buffer throws(CryptoError) in
            try document.bytes.withBytes { bytes throws(CryptoError) in
                var index = cell.range.lowerBound
                while index < cell.range.upperBound {
                    try buffer.append(bytes[index])
                    index += bytes[index] == UInt8(ascii: "\"") ? 2 : 1
                }
            }
        }
    }
}

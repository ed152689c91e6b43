// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The line protocol of libassuan's programs: one command or answer per line, in which `%`, CR and LF are escaped.
enum Assuan {
    /// The maximum length of a received line with its end, in bytes.
    static let longestLine = 2048
    /// The maximum length of a sent line without its end, in bytes (ASSUAN_LINELENGTH): a pinentry that gets a longer
    /// one fails, and asks nothing.
    static let longestCommand = 1000

    /// Returns a command as it is sent: on one line, cut behind a character where it is too long. The names in it are
    /// those of other programs and of pages.
    static func sent(_ command: String) -> [UInt8] {
        guard command.utf8.count > longestCommand else { return Array((command + "\n").utf8) }
        let ellipsis = "\u{2026}"
        var (cut, length) = ("", ellipsis.utf8.count)
        for character in command {
            length += character.utf8.count
            guard length <= longestCommand else { break }
            cut.append(character)
        }
        // An escape is not cut either.
        if let escape = cut.suffix(2).lastIndex(of: "%") { cut = String(cut[..<escape]) }
        return Array((cut + ellipsis + "\n").utf8)
    }

    private static let description = "SETDESC "

    /// The command that shows lines of text.
    static func describing(_ lines: [String]) -> String { description + escaped(lines) }

    /// Whether lines of text are shown to their end.
    static func takes(description lines: [String]) -> Bool { describing(lines).utf8.count <= longestCommand }

    private static let longestText = 160

    /// Joins lines of text into one argument of a command. Escapes everything that would end the line, move a
    /// terminal's cursor, or hide or reorder text.
    static func escaped(_ lines: [String]) -> String { lines.map(escaped).joined(separator: "%0A") }

    private static func escaped(_ line: String) -> String {
        var escaped = ""
        // A name can be as long as a path, and a command must fit into a line.
        for scalar in line.unicodeScalars.prefix(longestText) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: escaped.unicodeScalars.append("\u{FFFD}")
            default: escaped.unicodeScalars.append(scalar)
            }
            if scalar == "%" { escaped += "25" }
        }
        return escaped
    }

    /// A parsed line.
    enum Answer: Equatable {
        case ok
        /// An error with libgpg-error's code, without the error source in its upper bits.
        case failure(code: Int, text: String)
        case data
        /// A comment or status line.
        case other
    }

    /// - Parameters:
    ///   - line: a line without its end.
    ///   - data: receives the unescaped bytes of a data line.
    static func take(_ line: Span<UInt8>, _ data: inout SecretBuffer) throws(CryptoError) -> Answer {
        if starts(line, "D ") {
            try PercentCoding.decode(line.extracting(2...)) { byte throws(CryptoError) in try data.append(byte) }
            return .data
        }
        if line.count == 2 ? starts(line, "OK") : starts(line, "OK ") { return .ok }
        guard starts(line, "ERR ") else { return .other }
        let parts = String(decoding: line.array(4..<line.count), as: UTF8.self).split(separator: " ", maxSplits: 1)
        let number = parts.first.flatMap { UInt32($0) } ?? 0
        return .failure(code: Int(number & 0xFFFF), text: parts.count > 1 ? String(parts[1]) : "")
    }

    private static func starts(_ line: Span<UInt8>, _ start: String) -> Bool {
        let start = Array(start.utf8)
        return line.count >= start.count && line.extracting(0..<start.count).elementsEqual(start.span)
    }
}

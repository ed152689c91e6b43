// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The line protocol of libassuan's programs: one command or answer per line, in which `%`, CR and LF are escaped.
enum Assuan {
    /// The maximum length of a line with its end, in bytes: libassuan's own limit is 1,002.
    static let longestLine = 2048

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

// SPDX-License-Identifier: Apache-2.0

/// A command line up to the cursor, as a person has typed it into a shell.
struct TypedLine {
    /// The words before the one at the cursor, without quotes. The first is the command's name.
    private(set) var words: [String] = []
    /// The word at the cursor, without quotes; empty after a blank.
    private(set) var current = ""

    /// Splits a line as POSIX shells do. A quote that is still open goes on to the end, and nothing is expanded.
    init(_ line: String) {
        var quotes = ShellQuotes()
        var isInWord = false
        for character in line {
            if !quotes.areOpen, character.isWhitespace {
                if isInWord { words.append(current) }
                (current, isInWord) = ("", false)
                continue
            }
            isInWord = true
            if quotes.pass(character) { current.append(character) }
        }
    }
}

/// The quotes of POSIX shells, as far as a text has been read.
struct ShellQuotes {
    private var quote: Character?
    private var isEscaped = false

    /// Whether the next character is quoted.
    var areOpen: Bool { quote != nil || isEscaped }

    /// - Returns: whether the character is a part of the word, rather than a quote.
    mutating func pass(_ character: Character) -> Bool {
        switch character {
        case _ where isEscaped: isEscaped = false
        case "\\" where quote != "'":
            isEscaped = true
            return false
        case quote:
            quote = nil
            return false
        case "'" where quote == nil, "\"" where quote == nil:
            quote = character
            return false
        default: break
        }
        return true
    }
}

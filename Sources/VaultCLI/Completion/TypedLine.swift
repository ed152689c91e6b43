// SPDX-License-Identifier: Apache-2.0

/// A command line up to the cursor, as a person has typed it into a shell.
struct TypedLine {
    /// The words before the one at the cursor, without quotes. The first is the command's name.
    private(set) var words: [String] = []
    /// The word at the cursor, without quotes; empty after a blank.
    private(set) var current = ""

    /// Splits a line as POSIX shells do. A quote that is still open goes on to the end, and nothing is expanded.
    init(_ line: String) {
        var quote: Character?
        var (isEscaped, isInWord) = (false, false)
        for character in line {
            if quote == nil, !isEscaped, character.isWhitespace {
                if isInWord { words.append(current) }
                (current, isInWord) = ("", false)
                continue
            }
            isInWord = true
            switch character {
            case _ where isEscaped:
                current.append(character)
                isEscaped = false
            case "\\" where quote != "'": isEscaped = true
            case quote: quote = nil
            case "'" where quote == nil, "\"" where quote == nil: quote = character
            default: current.append(character)
            }
        }
    }
}

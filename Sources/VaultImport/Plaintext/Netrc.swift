// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto

/// `~/.netrc`: `machine NAME login USER password WORD`, in words separated by blanks and line ends.
enum Netrc {
    private struct Word {
        let range: Range<Int>
        let isQuoted: Bool
        let line: Int
    }

    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        var words = words(of: document)[...]
        var current: (login: Login, ranges: [Range<Int>], start: Int)?
        func finish(_ end: Int) {
            guard let (named, ranges, start) = current else { return }
            current = nil
            var login = named
            login.id = "\(login.title) \(login.user)"
            guard login.password != nil else { return found.imported.skip(login.place, "it has no password") }
            found.append(login, ranges + [start..<end])
        }
        while let word = words.popFirst() {
            let name = document.text(word.range)
            let place = "line \(word.line)"
            func value() throws(ImportError) -> Secret {
                guard let value = words.popFirst() else { throw .malformed(place, "a value is missing") }
                return try meaning(of: value, document)
            }
            switch name {
            case "machine", "default":
                finish(word.range.lowerBound)
                var login = Login(id: "", place: place)
                login.title = name == "default" ? "default" : try value().plainText
                login.address =
                    name == "default" ? .service("netrc") : .internet([.server: .string(login.title.lowercased())])
                current = (login, [], word.range.lowerBound)
            case "login":
                let user = try value().plainText
                current?.login.user = user
            case "password":
                let password = try value()
                current?.login.password = password
            case "account":
                let account = try value().plainText
                current?.login.addAttribute("account", account)
            case "macdef":
                // A macro extends to the next blank line, and is not removed.
                let end = endOfMacro(document, word.range.upperBound)
                if let (login, ranges, start) = current {
                    current = (login, ranges + [start..<word.range.lowerBound], end)
                }
                words = words.drop { $0.range.lowerBound < end }
            default: throw .malformed(place, "this is no word of a netrc file")
            }
        }
        finish(document.count)
        return found
    }

    private static func endOfMacro(_ document: Document, _ start: Int) -> Int {
        document.lines.first { $0.lowerBound > start && $0.isEmpty }.map { min($0.upperBound + 1, document.count) }
            ?? document.count
    }

    /// Returns the value of a word. Between quotes, a backslash escapes the next character.
    private static func meaning(of word: Word, _ document: Document) throws(ImportError) -> Secret {
        guard word.isQuoted else { return try document.secret(word.range) }
        return try secured { () throws(CryptoError) in
            var buffer = try SecretBuffer(capacity: word.range.count)
            try document.bytes.withBytes { bytes throws(CryptoError) in
                var index = word.range.lowerBound
                while index < word.range.upperBound {
                    if bytes[index] == UInt8(ascii: "\\"), index + 1 < word.range.upperBound { index += 1 }
                    try buffer.append(bytes[index])
                    index += 1
                }
            }
            return Secret(try buffer.take())
        }
    }

    /// Splits the text into words. Quoted words may contain blanks; a # at the beginning of a line starts a comment.
    private static func words(of document: Document) -> [Word] {
        var words: [Word] = []
        for (number, line) in document.lines.enumerated() {
            document.bytes.withBytes { bytes in
                let text = bytes.trimmed(line)
                guard !text.isEmpty, bytes[text.lowerBound] != UInt8(ascii: "#") else { return }
                var index = text.lowerBound
                while index < text.upperBound {
                    guard bytes[index] != 0x20, bytes[index] != 0x09 else {
                        index += 1
                        continue
                    }
                    let start = index
                    if bytes[index] == UInt8(ascii: "\""), let end = endOfQuote(bytes, index + 1..<text.upperBound) {
                        words.append(Word(range: index + 1..<end, isQuoted: true, line: number + 1))
                        index = end + 1
                        continue
                    }
                    while index < text.upperBound, bytes[index] != 0x20, bytes[index] != 0x09 { index += 1 }
                    words.append(Word(range: start..<index, isQuoted: false, line: number + 1))
                }
            }
        }
        return words
    }

    private static func endOfQuote(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index < range.upperBound {
            switch bytes[index] {
            case UInt8(ascii: "\""): return index
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        return nil
    }
}

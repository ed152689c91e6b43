// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// `~/.netrc`: `machine NAME login USER password WORD`, in words separated by blanks and line ends.
enum Netrc {
    private typealias Word = (range: Range<Int>, isQuoted: Bool, line: Int)

    private struct Entry {
        var login: Login
        var ranges: [Range<Int>] = []
        var start: Int
        var seen: Set<String> = []
        /// The reason why nothing of the machine is imported or removed.
        var flaw: String?
    }

    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        var words = words(of: document)[...]
        let comments = document.lines.filter { !$0.text.isEmpty && document.isIdle($0) }.map(\.whole)
        var current: Entry?
        func finish(_ end: Int) {
            guard var entry = current else { return }
            current = nil
            entry.login.id = "\(entry.login.title) \(entry.login.user)"
            if entry.login.password == nil, entry.flaw == nil { entry.flaw = "it has no password" }
            if let flaw = entry.flaw { return found.imported.skip(entry.login.place, flaw) }
            // A comment may contain another secret, and stays.
            found.append(entry.login, without(comments, entry.ranges + [entry.start..<end]))
        }
        while let word = words.popFirst() {
            let name = document.text(word.range)
            let place = "line \(word.line)"
            func value() throws(ImportError) -> Secret? {
                guard let value = words.popFirst() else {
                    current?.flaw = "a value is missing"
                    return nil
                }
                // Between quotes, a backslash escapes the next character.
                return try value.isQuoted ? document.unescaped(value.range) : document.secret(value.range)
            }
            switch name {
            case "machine", "default":
                finish(word.range.lowerBound)
                var login = Login(id: "", place: place)
                current = Entry(login: login, start: word.range.lowerBound)
                login.title = name == "default" ? name : try value()?.plainText ?? ""
                login.address =
                    name == "default" ? .service("netrc") : .internet([.server: .string(login.title.foldedASCII)])
                current?.login = login
            case "login", "password", "account":
                let value = try value()
                guard current != nil else {
                    found.stays(place, "'\(name)', which belongs to no machine,")
                    continue
                }
                if current?.seen.insert(name).inserted == false { current?.flaw = "it has more than one \(name)" }
                switch name {
                case "login": current?.login.user = value?.plainText ?? ""
                case "password": current?.login.password = value
                default: current?.login.addField(name, value)
                }
            case "macdef":
                // A macro extends to the next blank line, and is not removed.
                let blank = document.lines.first { $0.range.lowerBound > word.range.upperBound && $0.range.isEmpty }
                let end = blank?.whole.upperBound ?? document.count
                if let entry = current {
                    current?.ranges.append(entry.start..<word.range.lowerBound)
                    current?.start = end
                }
                words = words.drop { $0.range.lowerBound < end }
            default:
                let flaw = "it has a word that no netrc file has, in line \(word.line)"
                if current == nil { found.imported.skip(place, flaw) } else { current?.flaw = flaw }
            }
        }
        finish(document.count)
        return found
    }

    /// Returns the ranges without the comments, which are in the order of the file.
    private static func without(_ comments: [Range<Int>], _ ranges: [Range<Int>]) -> [Range<Int>] {
        ranges.flatMap { range in
            var parts: [Range<Int>] = []
            var start = range.lowerBound
            var (low, high) = (0, comments.count)
            while low < high {
                let middle = (low + high) / 2
                if comments[middle].upperBound > start { high = middle } else { low = middle + 1 }
            }
            for comment in comments[low...] {
                guard comment.lowerBound < range.upperBound else { break }
                if comment.lowerBound > start { parts.append(start..<comment.lowerBound) }
                start = max(start, comment.upperBound)
            }
            return start < range.upperBound ? parts + [start..<range.upperBound] : parts
        }
    }

    /// Splits the text into words. Quoted words may contain blanks; a # at the beginning of a line starts a comment.
    private static func words(of document: Document) -> [Word] {
        var words: [Word] = []
        for line in document.lines where !document.isIdle(line) {
            document.bytes.withBytes { bytes in
                let text = line.text
                var index = text.lowerBound
                while index < text.upperBound {
                    guard bytes[index] != 0x20, bytes[index] != 0x09 else {
                        index += 1
                        continue
                    }
                    let start = index
                    if bytes[index] == UInt8(ascii: "\""), let end = endOfQuote(bytes, index + 1..<text.upperBound) {
                        words.append((index + 1..<end, isQuoted: true, line.number))
                        index = end + 1
                        continue
                    }
                    while index < text.upperBound, bytes[index] != 0x20, bytes[index] != 0x09 { index += 1 }
                    words.append((start..<index, isQuoted: false, line.number))
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

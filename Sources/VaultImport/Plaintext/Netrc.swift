// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto

/// `~/.netrc`: `machine NAME login USER password WORD`, in words that blanks and lines part.
enum Netrc {
    static func logins(_ document: Document) throws(ImportError) -> Plaintext.Found {
        var found = Plaintext.Found()
        var words = words(of: document)[...]
        var current: (login: Login, start: Int)?
        func finish(_ end: Int) {
            guard let (named, start) = current else { return }
            current = nil
            var login = named
            login.id = "\(login.title) \(login.user)"
            guard login.password != nil else { return found.imported.skip(login.place, "it has no password") }
            found.append(login, [start..<end])
        }
        while let word = words.popFirst() {
            let name = document.text(word)
            let place = "line \(document.line(at: word.lowerBound))"
            func value() throws(ImportError) -> Range<Int> {
                guard let value = words.popFirst() else { throw .malformed(place, "a value is missing") }
                return value
            }
            switch name {
            case "machine", "default":
                finish(word.lowerBound)
                var login = Login(id: "", place: place)
                login.title = name == "default" ? "default" : document.text(try value())
                login.address =
                    name == "default" ? .service("netrc") : .internet([.server: .string(login.title.lowercased())])
                current = (login, word.lowerBound)
            case "login": current?.login.user = document.text(try value())
            case "password": current?.login.password = try document.secret(try value())
            case "account": current?.login.addAttribute("account", document.text(try value()))
            case "macdef":
                // A macro goes to the next blank line, and belongs to nobody here.
                finish(word.lowerBound)
                let end = endOfMacro(document, word.upperBound)
                words = words.drop { $0.lowerBound < end }
            default: throw .malformed(place, "this is no word of a netrc file")
            }
        }
        finish(document.count)
        return found
    }

    private static func endOfMacro(_ document: Document, _ start: Int) -> Int {
        document.lines.first { $0.lowerBound > start && $0.isEmpty }?.lowerBound ?? document.count
    }

    /// Between quotes there may be blanks; behind a # at the beginning of a line is a comment.
    private static func words(of document: Document) -> [Range<Int>] {
        var words: [Range<Int>] = []
        for line in document.lines {
            document.bytes.withBytes { bytes in
                var index = line.lowerBound
                while index < line.upperBound {
                    let byte = bytes[index]
                    if byte == 0x20 || byte == 0x09 {
                        index += 1
                        continue
                    }
                    if byte == UInt8(ascii: "#"), bytes.trimmed(line).lowerBound == index { break }
                    if byte == UInt8(ascii: "\""),
                        let end = bytes.firstIndex(of: UInt8(ascii: "\""), in: index + 1..<line.upperBound)
                    {
                        words.append(index + 1..<end)
                        index = end + 1
                        continue
                    }
                    let start = index
                    while index < line.upperBound, bytes[index] != 0x20, bytes[index] != 0x09 { index += 1 }
                    words.append(start..<index)
                }
            }
        }
        return words
    }
}

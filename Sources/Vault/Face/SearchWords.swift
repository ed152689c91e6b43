// SPDX-License-Identifier: Apache-2.0
@_spi(_Unicode) import Swift
internal import VaultFormat

/// The words of a search. An item is found if each of them is somewhere in its ``SearchedText``.
package struct SearchWords: Sendable {
    private let words: [[UInt8]]
    /// The fewest letters of a word that may have a mistake.
    private static let leastForgiven = 4

    /// - Parameter text: words, separated by blanks. A text without words finds every item.
    package init(_ text: String) {
        words = text.split(whereSeparator: \.isWhitespace).map { SearchedText.folded(String($0)) }
    }

    package func areIn(_ text: SearchedText) -> Bool { words.allSatisfy { text.bytes.span.contains($0.span) } }

    /// Returns whether the text has the words, or the beginnings of words from which they differ in one letter: another
    /// one, one more, one less, or two that are exchanged.
    package func areNearlyIn(_ text: SearchedText) -> Bool {
        var texts: [[Unicode.Scalar]]?
        return words.allSatisfy { word in
            if text.bytes.span.contains(word.span) { return true }
            let parts = SearchedText.letters(of: word)
            return !parts.isEmpty
                && parts.allSatisfy { part in
                    let bytes = part.flatMap { Array(String($0).utf8) }
                    if text.bytes.span.contains(bytes.span) { return true }
                    guard part.count >= SearchWords.leastForgiven else { return false }
                    let found = texts ?? SearchedText.letters(of: text.bytes)
                    texts = found
                    return found.contains { SearchWords.isNearly(part, atStartOf: $0) }
                }
        }
    }

    private static func isNearly(_ word: [Unicode.Scalar], atStartOf text: [Unicode.Scalar]) -> Bool {
        let same = zip(word, text).prefix { $0 == $1 }.count
        let (rest, textRest) = (word[same...], text[same...])
        // The letter of the mistake decides about the letters behind it.
        return textRest.dropFirst().starts(with: rest.dropFirst()) || textRest.starts(with: rest.dropFirst())
            || textRest.dropFirst().starts(with: rest)
            || rest.count > 1 && textRest.starts(with: [rest[same + 1], rest[same]] + rest.dropFirst(2))
    }
}

/// All that a search looks at in an item, in the form in which it is compared: without capitals and diacritics.
package struct SearchedText: Sendable {
    /// The parts in UTF-8, each followed by a newline.
    fileprivate private(set) var bytes: [UInt8] = []

    package init(_ face: ItemFace) {
        bytes.reserveCapacity(256)
        append(face.title)
        append(face.place)
        append(face.user)
        for url in face.urls { append(url) }
        for attribute in [Attribute.account, .securityDomain] { append(face.item[attribute]?.text) }
        for part in [face.folder, face.kind, face.comment] { append(part) }
        for tag in face.tags { append(tag) }
        for (name, text) in face.others {
            append(name)
            append(text)
        }
        guard let passkey = Passkey(face.item) else { return }
        append(passkey.names.relyingParty)
        append(passkey.names.display)
    }

    private mutating func append(_ text: String?) {
        guard let text, !text.isEmpty else { return }
        SearchedText.append(folded: text, to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Returns the letters and digits of a folded text, divided by anything else.
    fileprivate static func letters(of bytes: [UInt8]) -> [[Unicode.Scalar]] {
        String(decoding: bytes, as: UTF8.self).unicodeScalars.split {
            $0.isASCII && !UInt8(ascii: $0).isASCIIAlphanumeric
        }.map(Array.init)
    }

    fileprivate static func folded(_ text: String) -> [UInt8] {
        var output: [UInt8] = []
        append(folded: text, to: &output)
        return output
    }

    private static func append(folded text: String, to output: inout [UInt8]) {
        let (capitals, start) = (UInt8(ascii: "A")...UInt8(ascii: "Z"), output.count)
        for byte in text.utf8 {
            guard byte < 0x80 else {
                output.removeSubrange(start...)
                return append(foldedUnicode: text, to: &output)
            }
            output.append(capitals.contains(byte) ? byte | 0x20 : byte)
        }
    }

    /// Folds a text of any characters. The marks that are removed are those of the Latin, Greek and Cyrillic scripts:
    /// in others, they make letters and vowels.
    private static func append(foldedUnicode text: String, to output: inout [UInt8]) {
        var letters = ""
        for scalar in text._nfd where !(0x300...0x36F).contains(scalar.value) { letters.unicodeScalars.append(scalar) }
        // By way of the capitals, "ß" is "ss", and the two small sigmas are one.
        output += letters.uppercased().lowercased().utf8
    }
}

extension Span<UInt8> {
    fileprivate func contains(_ part: Span<UInt8>) -> Bool {
        guard part.count > 0 else { return true }
        let (first, length) = (part[0], part.count)
        var start = 0
        while start + length <= count {
            if self[start] == first {
                var same = 1
                while same < length, self[start + same] == part[same] { same += 1 }
                if same == length { return true }
            }
            start += 1
        }
        return false
    }
}

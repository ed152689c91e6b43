// SPDX-License-Identifier: Apache-2.0

/// An X.501 name: sets of attributes with their positions.
package struct DistinguishedName: Sendable {
    private struct Entry {
        let startsSet: Bool
        let type: Range<Int>
        let value: DERReader.Element
    }

    private var entries: [Entry] = []

    /// - Parameter content: of the Name's SEQUENCE; a name may be empty.
    /// - Returns: `nil` if a set is empty, or the structure differs from RFC 5280 (4.1.2.4).
    init?(_ content: Range<Int>, of bytes: Span<UInt8>) {
        var sets = DERReader(content)
        while !sets.isAtEnd {
            guard let set = sets.take(DERTag.set, of: bytes), !set.isEmpty else { return nil }
            var pairs = DERReader(set)
            var startsSet = true
            while !pairs.isAtEnd {
                guard let pair = pairs.take(DERTag.sequence, of: bytes) else { return nil }
                var parts = DERReader(pair)
                guard let type = parts.take(DERTag.objectIdentifier, of: bytes), !type.isEmpty,
                    let value = parts.element(of: bytes), parts.isAtEnd
                else { return nil }
                entries.append(Entry(startsSet: startsSet, type: type, value: value))
                startsSet = false
            }
        }
    }

    /// The form in which names are compared and stored: the same as Apple's, and simpler than RFC 5280 (7.1) requires.
    ///
    /// - Parameter wholeName: a Name in DER with its SEQUENCE.
    /// - Returns: the content of the SEQUENCE, with every PrintableString in capitals, without spaces at its ends and
    ///   with single ones within; `nil` if it is not exactly one name.
    package static func normalized(wholeName: Span<UInt8>) -> [UInt8]? {
        var reader = DERReader(wholeName)
        guard let content = reader.take(DERTag.sequence, of: wholeName), reader.isAtEnd else { return nil }
        return DistinguishedName(content, of: wholeName)?.normalized(of: wholeName)
    }

    /// As ``normalized(wholeName:)``.
    func normalized(of bytes: Span<UInt8>) -> [UInt8] {
        var (name, set) = (DERWriter(), DERWriter())
        func endSet() {
            if !set.bytes.isEmpty { name.put(DERTag.set, set.bytes) }
            set = DERWriter()
        }
        for entry in entries {
            if entry.startsSet { endSet() }
            let content = bytes.array(entry.value.content)
            var pair = DERWriter()
            pair.put(DERTag.objectIdentifier, bytes.array(entry.type))
            pair.put(
                entry.value.tag,
                entry.value.tag == DERTag.printableString ? DistinguishedName.capitals(content) : content)
            set.put(DERTag.sequence, pair.bytes)
        }
        endSet()
        return name.bytes
    }

    private static func capitals(_ text: [UInt8]) -> [UInt8] {
        let words = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return Array(words.joined(separator: [UInt8(ascii: " ")])).map { (0x61...0x7a).contains($0) ? $0 - 0x20 : $0 }
    }

    /// The values of all attributes of the type, in order, without those that are not text.
    ///
    /// - Parameter type: `nil` for every type.
    func texts(_ type: [UInt8]?, of bytes: Span<UInt8>) -> [String] {
        entries.compactMap { entry in
            guard type == nil || type == bytes.array(entry.type) else { return nil }
            return DERText.string(entry.value, of: bytes)
        }
    }

    /// As ``summary(of:alternative:)``.
    ///
    /// - Parameter name: in the form of ``normalized(wholeName:)``.
    /// - Returns: `nil` also if it is not a name.
    package static func summary(normalized name: Span<UInt8>) -> String? {
        DistinguishedName(0..<name.count, of: name)?.summary(of: name, alternative: nil)
    }

    /// The display name of a certificate's subject, as Apple's systems choose it.
    ///
    /// - Parameter alternative: another name of the subject in the certificate; only a common name takes precedence.
    /// - Returns: all values of the best available type, the last one first; `nil` if there is none.
    func summary(of bytes: Span<UInt8>, alternative: String?) -> String? {
        func line(_ type: [UInt8]?) -> String? {
            let texts = texts(type, of: bytes)
            return texts.isEmpty ? nil : texts.reversed().joined(separator: ", ")
        }
        if let name = line(ObjectIDs.commonName) {
            return texts(ObjectIDs.description, of: bytes).first.map { "\(name) (\($0))" } ?? name
        }
        return alternative ?? line(ObjectIDs.organizationalUnit) ?? line(ObjectIDs.organization) ?? line(nil)
    }
}

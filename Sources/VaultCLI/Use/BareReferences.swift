// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// The references in a text that stand where none is replaced: a person may have expected the secret there.
struct BareReferences {
    private(set) var found: [(text: String, line: Int)] = []
    private(set) var count = 0
    private static let most = 5
    private static let longest = 512

    /// Notes a reference that begins at an index, if there is one.
    mutating func look(at index: Int, of bytes: Span<UInt8>, line: Int) {
        guard bytes[index] == UInt8(ascii: "v"), bytes.hasReference(at: index),
            // `ref+vault://` and the like are other programs' schemes.
            index == 0 || !BareReferences.continues(bytes[index - 1]) || "~%/@:_".utf8.contains(bytes[index - 1])
        else { return }
        var end = index
        while end < bytes.count, end - index < BareReferences.longest, BareReferences.continues(bytes[end]) { end += 1 }
        var text = String(decoding: bytes.extracting(index..<end).array, as: UTF8.self)
        // A full stop or a colon ends the sentence or the part of a line, and no reference.
        while let last = text.last, ".:/".contains(last) { text.removeLast() }
        guard SecretReference(text) != nil else { return }
        count += 1
        if found.count < BareReferences.most { found.append((text, line)) }
    }

    /// The bytes of a reference in a text: unreserved characters, escapes, and what accounts commonly have.
    private static func continues(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte >= 0x80 || "-._~%/@:+".utf8.contains(byte)
    }

    /// Warns of the first few.
    func warn(_ text: ((text: String, line: Int)) -> String) {
        for reference in found { Output.warn(text((reference.text.printable, reference.line))) }
        if count > found.count { Output.warn("\((count - found.count).grouped) more references stay as they are") }
    }
}

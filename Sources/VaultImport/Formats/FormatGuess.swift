// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// Guesses the format of a file from its content.
package enum FormatGuess {
    /// - Returns: the name of a format, as taken by `vault import`; `nil` if unknown.
    package static func format(of content: Secret) -> String? {
        switch content.withBytes({ $0.array(0..<min(4, $0.count)) }) {
        case [0x03, 0xd9, 0xa2, 0x9a]: return "kdbx"
        // A zip archive, which only 1Password's format is.
        case [0x50, 0x4b, 0x03, 0x04]: return "1pux"
        default: break
        }
        guard let document = try? Document(content), let first = document.first else { return nil }
        if first == UInt8(ascii: "{") { return json(document) }
        if document.text(document.start..<min(document.start + 10, document.count)) == "otpauth://" { return "otpauth" }
        var reader = CSVReader(document)
        guard let header = try? reader.next(), header.cells.count > 1 else { return nil }
        return CSVLayout.of(header.cells.map { reader.text($0) }) == nil ? nil : "csv"
    }

    /// Returns the hint that names the format of a file, if another one than its reader expected.
    static func hint(of document: Document, otherThan expected: String? = nil) -> String? {
        guard let format = format(of: document.content), format != expected else { return nil }
        return "it seems to be \(format): 'vault import \(format) FILE'"
    }

    private static func json(_ document: Document) -> String? {
        guard let root = try? JSONValue(document) else { return nil }
        if root["db"] != nil, root["header"] != nil { return "aegis" }
        if root["exporterRpId"]?.isString == true || CXF.isAccount(root) { return "cxf" }
        if root["auths"]?.isObject == true { return "docker" }
        return root["encrypted"]?.boolean != nil ? "bitwarden" : nil
    }
}

extension Document {
    var first: UInt8? {
        bytes.withBytes { bytes in
            (start..<bytes.count).first { ![0x20, 0x09, 0x0a, 0x0d].contains(bytes[$0]) }.map { bytes[$0] }
        }
    }
}

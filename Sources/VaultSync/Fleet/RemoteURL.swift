// SPDX-License-Identifier: Apache-2.0
package import SystemPackage

/// Where a remote is: `file:///dir`, a folder that devices share.
package struct RemoteURL: Hashable, Sendable {
    /// From the root.
    package let folder: FilePath

    /// - Throws: `.store(.invalid)` for a user or a password, another scheme, or a path that does not begin at the
    ///   root.
    package init(_ text: String) throws(SyncError) {
        let prefix = "file://"
        guard !RemoteURL.hasUser(text) else {
            throw .store(.invalid("a remote has no user and no password: its URL is stored, told and shown"))
        }
        guard text.lowercased().hasPrefix(prefix) else {
            throw .store(.invalid("a remote is a folder: file:///absolute/path"))
        }
        guard let path = RemoteURL.decoded(text.dropFirst(prefix.count)), path.hasPrefix("/"),
            !path.utf8.contains(0)
        else {
            throw .store(.invalid("the path of a folder begins at the root: file:///absolute/path"))
        }
        folder = FilePath(path).lexicallyNormalized()
    }

    package init(folder: FilePath) { self.folder = folder.lexicallyNormalized() }

    /// With what a URL cannot have in percent signs (RFC 3986).
    package var text: String {
        var text = "file://"
        for byte in folder.string.utf8 {
            let isPlain =
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "/-._~".utf8.contains(byte)
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += "%" + (digits.utf8.count == 1 ? "0" : "") + digits
            }
        }
        return text
    }

    /// Whether a URL of any scheme has something before its host (RFC 3986).
    private static func hasUser(_ text: String) -> Bool {
        // The scheme, nothing, the authority, and the rest.
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count > 2 && parts[0].hasSuffix(":") && parts[1].isEmpty && parts[2].contains("@")
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultFormat

extension FuzzedFormat {
    static let ofURLs = SampleURLs(count: 200, seed: 3).map { [url.rawValue] + Array($0.utf8) }

    /// The parts of an accepted URL are the whole text, a host is accepted in its own spelling as itself, and the
    /// second reading has the same server.
    func holdsURL(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return true }
        let span = bytes.span
        guard let parts = URLParts(span) else { return true }
        let written =
            (parts.scheme.map {
                span.text(0..<$0.utf8.count).foldedASCII == $0 ? span.text(0..<$0.utf8.count) + "://" : ""
            }
                ?? "") + (parts.user.map { span.text($0) + "@" } ?? "") + span.text(parts.server)
            + span.text(parts.path)
            + (parts.query.map { "?" + span.text($0) } ?? "") + (parts.fragment.map { "#" + span.text($0) } ?? "")
        guard written == text else { return false }
        guard let server = URLServer(span, parts.server), let host = WebHost(span, server.host) else { return true }
        guard WebHost(host.text) == host, host.text.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
        // The second reading knows few letters beyond ASCII, removes tabs and newlines, and reads no files.
        guard let scheme = parts.scheme, URLScheme.isOfWeb(scheme), scheme != "file",
            text.utf8.allSatisfy({ $0 < 0x80 })
        else { return true }
        guard let other = StandardURL(text), var name = other.host else { return false }
        if name.hasSuffix(".") { name.removeLast() }
        let port = server.port == URLScheme.usualPort(scheme) ? nil : server.port
        return name == host.text && other.port == port.map(Int.init) && other.hasUser == (parts.user != nil)
    }
}

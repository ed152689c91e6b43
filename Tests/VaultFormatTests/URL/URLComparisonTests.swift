// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultFormat

/// The product's reading of URLs, and the standard's, over a million texts: both name the same server, or the product
/// refuses the text for a reason that it documents.
struct URLComparisonTests {
    /// A text that is read, in the form of ``StandardURL``.
    struct Reading: Equatable {
        let scheme: String
        let hasUser: Bool
        let host: String
        let port: Int?
    }

    /// The reasons for which the product refuses what the standard reads.
    enum Refusal: String, CaseIterable {
        case controlInside, slashes, noAuthority, percent, number, emptyLabel, longName, character, letter, portZero
    }

    static func reading(_ text: String) -> Reading? {
        let bytes = text.utf8.span
        guard let parts = URLParts(bytes, trims: true), let scheme = parts.scheme,
            let server = URLServer(bytes, parts.server)
        else { return nil }
        var host = bytes.text(server.host)
        if URLScheme.isOfWeb(scheme) || host.hasPrefix("[") {
            guard let name = WebHost(bytes, server.host) else { return nil }
            host = name.text
        }
        let port = server.port == URLScheme.usualPort(scheme) ? nil : server.port
        return Reading(scheme: scheme, hasUser: parts.user != nil, host: unicode(host), port: port.map(Int.init))
    }

    static func reading(_ url: StandardURL) -> Reading? {
        guard var host = url.host else { return nil }
        // The dot of the DNS root, which makes no other server.
        if URLScheme.isOfWeb(url.scheme), host.hasSuffix(".") { host.removeLast() }
        return Reading(scheme: url.scheme, hasUser: url.hasUser, host: unicode(host), port: url.port)
    }

    /// Returns a host with its labels `xn--…` decoded, which both readings take as they are.
    static func unicode(_ host: String) -> String {
        host.split(separator: ".", omittingEmptySubsequences: false).map { label in
            label.hasPrefix("xn--") ? decoded(Array(label.utf8.dropFirst(4))) ?? String(label) : String(label)
        }.joined(separator: ".")
    }

    /// RFC 3492, 6.2.
    static func decoded(_ label: [UInt8]) -> String? {
        let split = label.lastIndex(of: UInt8(ascii: "-"))
        var output = label[..<(split ?? 0)].map { Unicode.Scalar($0) }
        var (n, i, bias) = (128, 0, 72)
        var place = split.map { $0 + 1 } ?? 0
        while place < label.count {
            let old = i
            var (weight, k) = (1, 36)
            while true {
                guard place < label.count else { return nil }
                let byte = label[place]
                let digit = byte.isASCIIDigit ? Int(byte) - 0x30 + 26 : Int(byte) - 0x61
                guard (0..<36).contains(digit), i < 1 << 40 else { return nil }
                place += 1
                i += digit * weight
                let threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias
                if digit < threshold { break }
                weight *= 36 - threshold
                k += 36
            }
            let count = output.count + 1
            var delta = old == 0 ? (i - old) / 700 : (i - old) / 2
            delta += delta / count
            var steps = 0
            while delta > 455 {
                delta /= 35
                steps += 36
            }
            bias = steps + 36 * delta / (delta + 38)
            n += i / count
            i %= count
            guard n <= 0x10ffff, let scalar = Unicode.Scalar(UInt32(n)) else { return nil }
            output.insert(scalar, at: i)
            i += 1
        }
        return String(String.UnicodeScalarView(output))
    }

    /// Returns the reason for which the product refuses a text that the standard reads; `nil` if there is none.
    static func refusal(_ text: String, _ url: StandardURL) -> Refusal? {
        let written = Array(text.utf8)
        if written.contains(where: { [9, 10, 13].contains($0) }) { return .controlInside }
        guard let host = url.host else { return .noAuthority }
        let isOfWeb = URLScheme.isOfWeb(url.scheme)
        let behind = written.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        let slashes = behind.prefix { "/\\".utf8.contains($0) }
        if isOfWeb, Array(slashes) != Array("//".utf8) { return .slashes }
        if url.port == 0 { return .portZero }
        // The host as it is written.
        let authority = behind.dropFirst(2).prefix { !(isOfWeb ? "/?#\\" : "/?#").utf8.contains($0) }
        let server = authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).last ?? []
        let name = String(decoding: server.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        if isOfWeb, name.contains("%") { return .percent }
        if isOfWeb,
            name.unicodeScalars.contains(where: {
                "\u{ad}\u{200b}\u{17f}\u{fb01}\u{ff21}\u{ff11}\u{308}".unicodeScalars.contains($0)
            })
        {
            return .letter
        }
        if isOfWeb, host.split(separator: ".").count == 4, host.allSatisfy({ $0.isNumber || $0 == "." }), host != name {
            return .number
        }
        let labels = (host.hasSuffix(".") ? String(host.dropLast()) : host).split(
            separator: ".", omittingEmptySubsequences: false)
        if isOfWeb, labels.contains("") { return .emptyLabel }
        if isOfWeb, host.utf8.count > WebHost.longest || labels.contains(where: { $0.utf8.count > 63 }) {
            return .longName
        }
        if host.utf8.contains(where: { $0 < 0x80 && !$0.isASCIIAlphanumeric && !"-_.".utf8.contains($0) }) {
            return .character
        }
        return nil
    }

    @Test func `a million URLs name the server that they name to a browser, or are refused for a reason`() {
        var counts: [Refusal: Int] = [:]
        var (read, refused, unexplained) = (0, 0, 0)
        for text in SampleURLs(count: 1_000_000, seed: 7) {
            let standard = StandardURL(text)
            let (own, other) = (URLComparisonTests.reading(text), standard.flatMap { URLComparisonTests.reading($0) })
            if own == other, standard == nil || other != nil {
                if own == nil { refused += 1 } else { read += 1 }
                continue
            }
            if own == nil, let standard, let reason = URLComparisonTests.refusal(text, standard) {
                counts[reason, default: 0] += 1
                continue
            }
            unexplained += 1
            if unexplained <= 20 {
                Issue.record("\(text.debugDescription): \(own as Any), and to the standard \(other as Any)")
            }
        }
        #expect(unexplained == 0)
        #expect(read > 200_000 && refused > 100_000, "\(read), \(refused)")
        for reason in Refusal.allCases { #expect(counts[reason, default: 0] > 50, "\(reason): \(counts)") }
    }
}

// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import VaultCLI

struct MaskTests {
    private static func masked(_ pieces: [[UInt8]], _ secrets: [String]) throws -> String {
        var mask = try Mask(secrets.map { try Secret(text: $0) })
        var shown: [UInt8] = []
        for piece in pieces { try mask.pass(piece.span) { shown += $0.array } }
        try mask.finish { shown += $0.array }
        return String(decoding: shown, as: UTF8.self)
    }

    /// Computes the masked form of a whole text without regard to speed: overlapping secrets are concealed as one.
    private static func expected(_ text: [UInt8], _ secrets: [String]) -> String {
        var shown: [UInt8] = []
        var concealed = 0
        for position in text.indices {
            let longest = secrets.filter { text[position...].starts(with: $0.utf8) }.map(\.utf8.count).max() ?? 0
            if longest > 0, position >= concealed { shown += Mask.replacement }
            concealed = max(concealed, longest > 0 ? position + longest : 0)
            if position >= concealed { shown.append(text[position]) }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    @Test func `however a text is cut, its secrets are taken out and nothing else`() throws {
        let random = SeededRandom("mask")
        let secrets = ["secret", "secretive", "aaaa", "tail\nof", "retire", "xsec"]
        let words = secrets + ["secre", "aaa", "a", "s", "tail\n", "x", "secretiv", "\n", "tire", "ret", "ive"]
        for _ in 0..<3000 {
            let text = Array((0..<random.number(in: 0...8)).map { _ in random.element(of: words) }.joined().utf8)
            var pieces: [[UInt8]] = []
            var rest = text[...]
            while !rest.isEmpty {
                let length = random.number(in: 1...rest.count)
                pieces.append(Array(rest.prefix(length)))
                rest = rest.dropFirst(length)
            }
            #expect(
                try Self.masked(pieces, secrets) == Self.expected(text, secrets),
                "\(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test func `secrets that overlap, and one without the newline that ends it, are taken out whole`() throws {
        let hidden = String(decoding: Mask.replacement, as: UTF8.self)
        #expect(try Self.masked([Array("abcdefxyz.".utf8)], ["abcdef", "defxyz"]) == "\(hidden).")
        #expect(try Self.masked([Array("ababab.".utf8)], ["abab"]) == "\(hidden).")
        #expect(try Self.masked([Array("[token] token\r\n.".utf8)], ["token\r\n"]) == "[\(hidden)] \(hidden).")
    }

    @Test func `the longest of two secrets is taken out, and the shorter one where the longer does not follow`() throws
    {
        let hidden = String(decoding: Mask.replacement, as: UTF8.self)
        #expect(try Self.masked([Array("abcdef abcd".utf8)], ["abcd", "abcdef"]) == "\(hidden) \(hidden)")
        #expect(
            try Self.masked([Array("abcd".utf8), Array("e".utf8), Array("x".utf8)], ["abcd", "abcdef"]) == "\(hidden)ex"
        )
        #expect(try Self.masked([Array("abcd".utf8)], ["abcd", "abcdef"]) == hidden)
    }

    @Test func `what cannot be masked passes through`() throws {
        #expect(try Self.masked([[1, 2, 3], [], [255]], []).utf8.count > 0)
        #expect(try Self.masked([Array("abc".utf8)], ["abc", ""]) == "abc")
    }
}

struct SecretReferenceTests {
    @Test(arguments: [
        ("vault://s/a", "s", "a", nil), ("vault://s", "s", nil, nil), ("vault://s/", "s", "", nil),
        ("vault://s//label", "s", "", "label"),
        ("vault://a%2Fb/%c3%a9/x%20y", "a/b", "é", "x y"), ("vault://é/%25", "é", "%", nil),
        ("vault://\u{301}x", "\u{301}x", nil, nil),
    ])
    func `a reference has a service, an account and the name of a field or an attribute`(
        _ text: String, _ service: String, _ account: String?, _ name: String?
    ) throws {
        let reference = try #require(SecretReference(text))
        #expect(reference.service == service && reference.account == account && reference.name == name)
    }

    @Test(arguments: [
        "", "secret", "vault:", "vault://", "vault:///a", "VAULT://s/a", "vault://s/a/b/c", "vault://s/a/",
        "vault://s/%", "vault://s/%2",
        "vault://s/%zz", "vault://s/%ff", "vault://s/a?b", "vault://s/a#b", "vault://s a/b", "vault://s/a\n",
        "vault:/\u{301}/s",
    ])
    func `what is no reference is none`(_ text: String) { #expect(SecretReference(text) == nil) }
}

struct EnvironmentFileTests {
    private static func values(_ text: String) throws -> [String] {
        try EnvironmentFile(Secret(bytes: Array(text.utf8))).variables.map { name, value in
            switch value {
            case .plain(let secret): "\(name)=\(String(decoding: secret.exposed, as: UTF8.self))"
            case .reference(let reference): "\(name)->\(reference.service)"
            }
        }
    }

    @Test func `lines are read as shells read them`() throws {
        let text =
            """
            A=1\r\n\n# no\n  export B=x y  # comment\nC='a # b'\nD=\"\\t\\\"\\$\\\\\\q\" # c\nE=\nF=a#b\n\
            G='vault://s/a'\nH=\"\"\nI='\u{301}x'\nA=2
            """
        let expected = ["A=1", "B=x y", "C=a # b", "D=\t\"$\\\\q", "E=", "F=a#b", "G->s", "H=", "I=\u{301}x", "A=2"]
        #expect(try Self.values(text) == expected)
    }

    @Test(arguments: [
        "A", "=1", "1A=1", "A B=1", "A =1", "A-B=1", "A='x", "A=\"x", "A=\"x\\", "A='x' y", "A=vault://", "é=1", "A=\0",
    ])
    func `what is not understood is refused, and not repeated`(_ line: String) throws {
        do {
            _ = try EnvironmentFile(Secret(bytes: Array("OK=1\n\(line)\n".utf8)))
            Issue.record("it was taken")
        } catch let error as CommandError {
            #expect(
                error.status == .usage && error.message.contains("line 2")
                    && (line.count < 3 || !error.message.contains(line)))
        }
    }
}

struct CopyTests {
    @Test(arguments: [("90", 90), ("45s", 45), ("2m", 120), ("24h", 86_400), ("0", 0)])
    func `a time has a unit, or is in seconds`(_ text: String, _ seconds: Int) {
        #expect(Copy.seconds(text) == seconds)
    }

    @Test(arguments: ["", "s", "-1", "1x", "1.5s", "25h", "99999999999999999999", "9999999999999999h"])
    func `what is no time is refused`(_ text: String) { #expect(Copy.seconds(text) == nil) }

    @Test func `a seal tells its secret from others`() throws {
        let seal = try ClipboardSeal(of: try Secret(text: "s3cret"))
        #expect(try seal.isOf(try Secret(text: "s3cret").bytes))
        #expect(try !seal.isOf(try Secret(text: "s3cret\n").bytes))
        seal.withBytes { bytes in #expect(bytes.count == ClipboardSeal.length) }
    }

    @Test func `a terminal gets the secret in its own clipboard`() throws {
        let shell = try Shell()
        _ = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass; echo s3cret |
                vault add db --passphrase-file pass
            """
        )
        let terminal = try PseudoTerminal(["copy", "db", "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "\u{1B}]52;c;czNjcmV0\u{7}")
        #expect(terminal.end() == 0)
        #expect(!terminal.screen.contains("s3cret"))
    }
}

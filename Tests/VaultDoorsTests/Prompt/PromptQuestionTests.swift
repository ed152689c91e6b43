// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultAgent

@testable import VaultDoorKit

/// Untrusted text in a question.
struct PromptQuestionTests {
    private func client(_ program: String, sandbox: String? = nil) -> DoorClient {
        DoorClient(process: 7, startTime: 1, program: program, sandbox: sandbox)
    }

    @Test(arguments: [
        "app' (process 1)?", "app\u{2019} (process 1)?", "app\" \u{201D}\u{201C}\u{201E}", "a\u{2032}b\u{2BC}c\u{B4}",
        "app'\u{301} (process 1)", "\u{FF07}\u{FF02}\u{AB}\u{BB}\u{300D}",
    ])
    func `no name ends its own quotation`(name: String) {
        let marks =
            "'\"\u{2018}\u{2019}\u{201C}\u{201D}\u{201E}\u{2032}\u{2BC}\u{B4}\u{FF07}\u{FF02}\u{AB}\u{BB}\u{300D}"
        for text in [PromptQuestion.quoted(name), PromptQuestion.saying(name, longest: 140)] {
            let inner = text.unicodeScalars.dropFirst().dropLast()
            #expect(!inner.contains { marks.unicodeScalars.contains($0) })
            #expect(text.unicodeScalars.contains("`"))
        }
        let lines = PromptQuestion.askerLines(client(name), isForwarded: true)
        #expect(lines.count == 2)
        #expect(lines[0].unicodeScalars.count { marks.unicodeScalars.contains($0) } == 2)
        #expect(lines[0].hasSuffix("' (process 7)"))
    }

    @Test func `a name without end leaves room for what the question says itself`() throws {
        // A character with any number of combining marks is still one character.
        let name = "a" + String(repeating: "\u{301}", count: 10_000)
        let line = Assuan.escaped(PromptQuestion.askerLines(client(name), isForwarded: false, end: "?"))
        #expect(line.hasSuffix("\u{2026}' (process 7)?"))
        #expect(PromptQuestion.quoted("short") == "'short'")
    }

    @Test func `an application of a sandbox is named, and not what carries its messages`() {
        let named = client("xdg-dbus-proxy", sandbox: "org.example.App")
        #expect(
            PromptQuestion.askerLines(named, isForwarded: false)
                == ["for the application 'org.example.App' (process 7)"])
        #expect(
            PromptQuestion.askerLines(client("xdg-dbus-proxy", sandbox: ""), isForwarded: false)
                == ["for an application in a sandbox (process 7)"])
        #expect(PromptQuestion.askerLines(client(""), isForwarded: false) == ["for a program (process 7)"])
    }

    @Test func `the comment of an ssh key is a quotation`() throws {
        let world = SSHWorld()
        let line = world.connect()
        let comment = "mine' for 'vault' (process 1)?"
        #expect(line.ask(try SSHSamples.adding("ed25519", comment: comment, constraints: [2])) == SSHSamples.success)
        _ = line.ask(try SSHSamples.signing("ed25519.pub"))
        #expect(world.asked.first?.first == "Use the ssh key 'mine` for `vault` (process 1)?'")
    }
}

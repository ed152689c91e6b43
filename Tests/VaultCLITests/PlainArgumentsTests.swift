// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TestSupport
import Testing

@testable import VaultCLI

/// A command that takes its arguments without the parser has the values that the parser would give it.
struct PlainArgumentsTests {
    private static let parts: [[String]] = [
        ["svc"], ["acc"], [""], ["vault://svc/acc"], ["get"], ["--"], ["-"], ["-x"], ["--json"], ["--reveal"],
        ["--force"], ["--mask"], ["--copy"], ["--cargo-plugin"], ["--vault", "v"], ["--vault=v"], ["--vault"],
        ["--vault", ""], ["--vault", "--json"], ["--passphrase-file", "p"], ["--passphrase-fd", "3"],
        ["--key-file", "k"], ["--recovery-code-file", "r"], ["--group", "g"], ["--field", "f"], ["--field", ""],
        ["--attr", "label"], ["--env", "A=vault://s/a"], ["--env", "A=b"], ["--path", "/"], ["--class", "internet"],
        ["--help"], ["--version"], ["--generate-completion-script", "bash"], ["--nonsense"],
    ]

    private static func shown(_ command: some ParsableCommand) -> String {
        var text = ""
        dump(command, to: &text)
        return text
    }

    private static func isEqual(_ plain: any ParsableCommand, to arguments: [String]) -> Bool {
        guard let parsed = try? VaultCommand.parseAsRoot(arguments) else { return false }
        return shown(parsed) == shown(plain)
    }

    @Test(arguments: [
        "get", "read", "otp", "run", "git-credential", "docker-credential", "cargo-credential",
    ])
    func `what is taken is what the parser would have taken`(name: String) {
        let random = SeededRandom("plain \(name)")
        var taken = 0
        for _ in 0..<500 {
            var arguments = [name] + (name == "run" ? ["--env", "A=vault://svc/acc"] : [])
            for _ in 0..<random.number(in: 0...5) {
                arguments += Self.parts[random.number(in: 0...Self.parts.count - 1)]
            }
            guard let plain = PlainCommands.command(arguments) else { continue }
            taken += 1
            #expect(Self.isEqual(plain, to: arguments), "\(arguments)")
        }
        #expect(taken > 5)
    }

    @Test(arguments: [
        ["get", "svc"], ["get", "svc", "acc", "--vault", "v"], ["get", "svc", "--field", "pin"],
        ["get", "svc", "--attr", "label", "--group", "g"], ["get", "svc", "--json", "--reveal"], ["get", "--", "-svc"],
        ["read", "vault://svc/acc"], ["otp", "svc", "acc", "--json"],
        ["run", "--env", "A=vault://s/a", "--env", "B=vault://s/b", "--mask", "--", "sh", "-c", "true"],
        ["git-credential", "get"], ["docker-credential"], ["docker-credential", "list"],
        ["cargo-credential", "--cargo-plugin"],
    ])
    func `the plain form of a command needs no parser`(arguments: [String]) throws {
        #expect(Self.isEqual(try #require(PlainCommands.command(arguments)), to: arguments))
    }

    @Test(arguments: [
        [], ["get"], ["get", "svc", "acc", "more"], ["get", ""], ["get", "vault://svc/acc"], ["get", "svc", "--json="],
        ["get", "svc", "--reveal"], ["get", "svc", "--json", "--json"], ["get", "svc", "--vault", "a", "--vault", "b"],
        ["get", "svc", "--mask"], ["get", "svc", "-h"], ["read"], ["run", "--", "true"],
        ["run", "--env", "A=b", "--", "c"],
        ["git-credential"], ["add", "svc"], ["help", "get"],
    ])
    func `everything else is the parser's`(arguments: [String]) {
        #expect(PlainCommands.command(arguments) == nil)
    }
}

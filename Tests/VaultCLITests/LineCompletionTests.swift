// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultCLI

struct LineCompletionTests {
    @Test(arguments: [
        ("vault ", ["vault"], ""), ("vault get a", ["vault", "get"], "a"), ("vault get 'a b", ["vault", "get"], "a b"),
        (#"vault get a\ b "c\"d" e"#, ["vault", "get", "a b", "c\"d"], "e"), ("", [], ""), (#"a\"#, [], "a"),
        ("vault get '' ", ["vault", "get", ""], ""), ("vault  get\ta:b", ["vault", "get"], "a:b"),
    ])
    func `a line is split as shells split it`(line: String, words: [String], current: String) {
        let typed = TypedLine(line)
        #expect(typed.words == words && typed.current == current)
    }

    private func offered(_ line: String) throws -> [String] {
        let typed = TypedLine(line)
        switch try LineCompletion(typed).offers() {
        case .paths: return [CompleteLine.paths]
        case .words(let words): return words.map(\.word).filter { $0.hasPrefix(typed.current) }
        }
    }

    @Test(arguments: [
        ("vault ge", ["get", "generate"]), ("vault help sl", ["slot"]), ("vault slot ", ["list", "add", "remove"]),
        ("vault doors enable s", ["secret-service", "ssh"]), ("vault get --fie", ["--field"]),
        ("vault get --class i", ["internet"]), ("vault get --class=i", ["--class=internet"]),
        ("vault get --json --js", []), ("vault inject -i ", [":paths"]), ("vault get --vault ", [":paths"]),
        ("vault completion f", ["fish"]), ("vault run -- --m", []), ("vault frob ", []), ("vault run --env A", []),
        ("vault slot --js", ["--json"]), ("vault device --vault ", [":paths"]),
    ])
    func `commands, options and values are offered where they fit`(line: String, words: [String]) throws {
        let found = try offered(line)
        #expect(Set(found) == Set(words), "\(found)")
    }

    @Test func `no line takes long, and none is offered more than it asks for`() throws {
        let long = String(repeating: "a", count: 100_000)
        for line in ["vault get \(long)", "vault --\(long)", "vault get --\(long)=x", "vault \(long) ", "'\(long)"] {
            #expect(try offered(line) == [])
        }
        #expect(try offered("vault get " + String(repeating: "x ", count: 10_000)) == [])
    }
}

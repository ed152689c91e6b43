// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultFormat

struct JSONNodeTests {
    @Test(arguments: [
        "", " ", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "[1,]", "[1 2]", "\"a", "\"\\x\"", "\"\\u12\"",
        "\"\n\"", "tru", "nul", "+1", "1.2.3", "NaN", "{} {}", "[]]", "'a'", "\u{FEFF}{}",
    ])
    func `what is no JSON is refused`(text: String) {
        #expect(throws: JSONFlaw.self) { _ = try JSONNode(Array(text.utf8).span) }
    }

    @Test func `a bomb of brackets is refused, and takes no stack`() {
        for bracket in ["[", "{\"a\":"] {
            let text = Array(String(repeating: bracket, count: 200_000).utf8)
            #expect(throws: JSONFlaw.self) { _ = try JSONNode(text.span) }
        }
        let deep = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        #expect(throws: Never.self) { _ = try JSONNode(Array(deep.utf8).span) }
    }

    @Test func `members are found by their names, escaped or not, and the first counts`() throws {
        let text = Array(#"{"\u0061":"\ud83d\ude00\n","b":null,"c":[1,true],"a":"x"}"#.utf8)
        let node = try JSONNode(text.span)
        #expect(node["a"]?.unescaped(text.span) == "😀\n")
        #expect(node["b"] == nil && node["d"] == nil)
        #expect(node["c"]?.elements.count == 2)
    }

    @Test func `texts that were changed here and there are read or refused`() {
        let random = SeededRandom("json")
        let seed = Array(#"{"action":"get-logins","keys":[{"id":"\u00e9","key":"a\\b"}],"n":-1.5e3,"t":true}"#.utf8)
        var accepted = 0
        for _ in 0..<20_000 {
            var text = seed
            for _ in 0..<random.number(in: 1...4) {
                let index = random.number(in: 0...text.count - 1)
                switch random.number(in: 0...2) {
                case 0: text[index] = random.chance(50) ? UInt8(random.uniform(256)) : random.element(of: seed)
                case 1: text.remove(at: index)
                default: text.insert(random.element(of: seed), at: index)
                }
            }
            guard let node = try? JSONNode(text.span) else { continue }
            accepted += 1
            #expect(node.range.lowerBound >= 0 && node.range.upperBound <= text.count)
            for name in ["action", "keys", "n"] { _ = node[name]?.unescaped(text.span) }
        }
        #expect(accepted > 500)
    }
}

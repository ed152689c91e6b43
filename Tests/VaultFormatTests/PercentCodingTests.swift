// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

struct PercentCodingTests {
    @Test(arguments: [
        ("", ""), ("a-b._~Z9", "a-b._~Z9"), ("a b", "a%20b"), ("é/%", "%C3%A9%2F%25"), ("\0\u{7f}", "%00%7F"),
        ("@:", "%40%3A"),
    ]) func `a text is encoded, and decoded again`(text: String, encoded: String) {
        #expect(PercentCoding.encoded(text) == encoded)
        #expect(PercentCoding.decoded(encoded) == text)
        #expect(PercentCoding.repaired(encoded) == text)
        #expect(PercentCoding.decoded(encoded.lowercased()) == text.lowercased())
    }

    @Test func `characters that the place allows stay`() {
        #expect(PercentCoding.encoded("/a b/@", keeping: "/@") == "/a%20b/@")
    }

    @Test(arguments: ["%", "a%4", "%G0", "%0G", "%+1", "%-1", "%%41", "%ff", "%C3"])
    func `an incomplete escape, and bytes that are not text, are refused`(encoded: String) {
        #expect(PercentCoding.decoded(encoded) == nil)
    }

    @Test(arguments: [("%", "%"), ("a%4", "a%4"), ("%G0", "%G0"), ("%%41", "%A"), ("%ff", "\u{FFFD}")])
    func `what is incomplete stays where a file of another program is read`(encoded: String, text: String) {
        #expect(PercentCoding.repaired(encoded) == text)
    }
}

// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultFormat

struct TextTests {
    @Test func `bytes are text if the standard library takes them, whatever their length and place`() {
        let random = SeededRandom("text")
        let parts: [[UInt8]] = [
            Array("a".utf8), Array("ü".utf8), Array("€".utf8), Array("𝄞".utf8), [0], [0x80], [0xC0, 0x80], [0xC3],
            [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF], Array("eight ch".utf8),
        ]
        var accepted = 0
        for _ in 0..<20_000 {
            let bytes = (0..<random.number(in: 0...6)).flatMap { _ in parts[random.number(in: 0...parts.count - 1)] }
            let start = min(random.number(in: 0...2), bytes.count)
            let part = bytes[start...]
            #expect(part.span.isUTF8 == (String(validating: part, as: UTF8.self) != nil), "\(Array(part))")
            if part.span.isUTF8 { accepted += 1 }
        }
        #expect(accepted > 1000 && accepted < 19_000)
    }
}

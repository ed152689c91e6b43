// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

struct RecordAddressTests {
    @Test func `addresses are in the order of kind, name and number`() {
        let names = [Bytes16([UInt8](0..<16)), Bytes16([UInt8](1..<17))]
        let sorted = RecordKind.allCases.flatMap { kind in
            names.flatMap { name in [1, 2, 300].map { RecordAddress(RecordStream(kind, name), $0) } }
        }
        #expect(sorted.shuffled().sorted() == sorted)
        #expect((0..<16).map { names[1].bytes[$0] } == [UInt8](1..<17))
    }
}

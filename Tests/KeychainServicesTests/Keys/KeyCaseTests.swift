// SPDX-License-Identifier: Apache-2.0
import SecItemCases
import Testing

extension SecItemTests {
    @Suite struct KeyCaseTests {
        @Test(arguments: KeyCase.table) func `keys and certificates are as Apple's`(row: KeyCase) throws {
            #expect(try row.run(in: TestWorld()) == [])
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Testing

/// Short forms of `Scripts/crash --faults`, `--kill` and `--races`.
struct TortureTests {
    @Test func `a command whose system call fails says so, keeps what was there, and does not stop the next one`()
        throws
    {
        let result = try Shell().run("vault-torture faults $PWD/place $(command -v vault)")
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(result.output.contains(" 0 faults"))
    }

    @Test func `a writer that is killed at any moment loses nothing that it acknowledged`() throws {
        let result = try Shell().run("vault-torture kill place 25")
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(result.output.contains(" 0 lost"))
    }

    @Test func `processes and threads that change one vault at once, some of them killed, agree on its history`() throws
    {
        let result = try Shell().run("vault-torture races place 6 4 4")
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(result.output.contains(" 0 faults"))
    }
}

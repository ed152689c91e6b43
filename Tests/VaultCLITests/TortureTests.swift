// SPDX-License-Identifier: Apache-2.0
import Testing

/// Short forms of `Scripts/crash --faults`, `--kill`, `--races` and `--fleet`, and of `Scripts/fleet`.
struct TortureTests {
    /// A shell function: the thread that starts the shell has signals blocked, which a child would inherit.
    private static let unblocked = """
        unblocked() {
            python3 -c 'import os, signal, sys
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execvp(sys.argv[1], sys.argv[1:])' "$@"
        }
        """

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

    @Test func `a process that waits for changes asks the system for nothing, and hears of them all the same`() throws {
        let result = try Shell().run(
            """
            \(Self.unblocked)
            mkdir place && vault-torture make place
            vault-torture watch place > heard & pid=$!
            until grep -q ready heard; do :; done
            # The calls of its start are over once the process has waited for a while.
            unblocked timeout 2 strace -f -qq -o /dev/null -p $pid
            unblocked timeout 2 strace -f -qq -o calls -p $pid; grep -c ' = ' calls
            vault-torture change place; wait $pid; tail -1 heard
            """)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 2 && lines[1] == "added", "\(result.output)\(result.error)")
        // Dispatch polls its threads once a second, with four calls; attaching strace interrupts one call of each
        // thread, which is then restarted.
        #expect(Int(lines.first ?? "") ?? .max <= 16, "\(result.output)")
    }

    @Test(arguments: ["", "hostile"])
    func `homes whose commands are killed at any moment end with all that each acknowledged`(folder: String) throws {
        let result = try Shell().run(
            "VAULT_TORTURE_SEED=1 vault-torture fleet $PWD/fleet $(command -v vault) 2 60 \(folder)")
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(result.output.contains(" 0 lost"))
    }

    @Test(arguments: ["postgres", "etcd"])
    func `a server that is cut off, killed and put back costs its devices nothing`(engine: String) throws {
        let result = try Shell().run(
            """
            \(Self.unblocked)
            VAULT_TORTURE_SEED=1 unblocked vault-torture servers $PWD/servers $(command -v vault) \(engine) 3 40
            """)
        let said = result.output + result.error
        if let reason = ["only root", "no network namespaces", "not installed"].first(where: said.contains) {
            return print("no fleet around a server was played: \(reason)")
        }
        #expect(result.status == 0 && result.output.contains(" 0 lost"), "\(said)")
    }

    @Test func `processes and threads that change one vault at once, some of them killed, agree on its history`() throws
    {
        let result = try Shell().run("vault-torture races place 6 4 4")
        #expect(result.status == 0, "\(result.output)\(result.error)")
        #expect(result.output.contains(" 0 faults"))
    }
}

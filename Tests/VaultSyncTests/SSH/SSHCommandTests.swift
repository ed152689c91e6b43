// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import VaultSync

struct SSHCommandTests {
    @Test func `a URL gives a host, a user, a port and a word`() throws {
        let command = try SSHCommand(try RemoteURL("ssh://ada@Host.example:2222/srv/a%20folder"))
        #expect(
            command.arguments.suffix(10)
                == [
                    "-p", "2222", "-l", "ada", "--", "host.example", "vault", "remote", "serve", "--",
                    "'/srv/a folder'",
                ].suffix(10))
        #expect(command.byHand == "ssh -p 2222 -l ada host.example")
        #expect(try SSHCommand(try RemoteURL("ssh://host/d")).arguments.contains("-p") == false)
    }

    @Test(arguments: [
        "ssh://-oProxyCommand=x/dir", "ssh://-l@host/dir", "ssh://%2DoProxyCommand=x/dir", "ssh://%2Dl@host/dir",
        "ssh://a%20b/dir", "ssh://a;b/dir", "ssh://$(id)/dir", "ssh://`id`@host/dir", "ssh://host:-1/dir",
        "ssh://host:0/dir", "ssh://host:22x/dir", "ssh://a,b/dir", "ssh://ada:secret@host/dir", "ssh://host",
        "ssh:///dir",
        "ssh://host/a%0Ab", "ssh://host/a%00b", "ssh://host/d?x=1", "ssh://[::1;id]/dir",
    ]) func `a URL whose words could be options or words of a shell is refused`(url: String) {
        #expect(throws: SyncError.self) { try RemoteURL(url) }
    }

    @Test(
        arguments: ["sh", "bash", "csh", "fish", "zsh"],
        [
            "/plain", "/two words", "/it's", "/back\\slash", "/\\'", "/a!b", "/$(id)`id`$HOME", "/;&|<>()*?[]{}~#\"",
            "/é ü",
            "/-- -x", "/\\\\", "/'\\''",
        ]) func `a path is one word for every shell`(shell: String, path: String) throws
    {
        let found = ["/bin/", "/usr/bin/"].map { $0 + shell }.first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let found else { return print("\(shell) is not installed: not tried") }
        let process = Process()
        process.executableURL = URL(filePath: found)
        process.arguments = ["-c", "printf %s " + SSHCommand.quoted(path)]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(String(decoding: said, as: UTF8.self) == path)
    }

    @Test(
        arguments: [
            ("Host key verification failed.\r\n", .exited(255), "run 'ssh host' once"),
            ("ada@host: Permission denied (publickey).\n", .exited(255), "none of this device's keys"),
            ("bash: line 1: vault: command not found\n", .exited(127), "finds no 'vault'"),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n", .exited(255),
                "another key"
            ),
            ("ssh: connect to host h port 22: Connection refused\n", .exited(255), "Connection refused"),
            ("", .killed(9), "signal 9"), ("", .exited(137), "ended with 137"),
        ] as [(String, SSHEnding, String)]) func `what ssh says goes to the person, with what to do`(
            said: String, ending: SSHEnding, words: String
        )
    {
        let complaint = SSHComplaint(said: said, ending: ending, failure: .ended, byHand: "ssh host")
        #expect(complaint.words.contains(words))
        #expect(!complaint.words.contains("\n"))
        #expect(
            SSHComplaint(said: String(repeating: "x", count: 9000), ending: .exited(1), failure: .ended, byHand: "")
                .words.utf8.count < 600)
    }
}

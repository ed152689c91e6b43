// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing

/// The recipe of the documentation for a device that joins its fleet anew.
struct RejoiningTests {
    private static func recipe() throws -> [String] {
        let article = try String(
            contentsOfFile: Vectors.directory + "/../../Sources/Vault/Vault.docc/ManyDevices.md", encoding: .utf8)
        let section = try #require(article.components(separatedBy: "### Rejoining as a new device\n").last)
        let block = try #require(section.components(separatedBy: "```\n").dropFirst().first)
        // Behind two blanks are remarks.
        return block.split(separator: "\n").map { String($0).components(separatedBy: "   ")[0] }
    }

    @Test func `the recipe brings what only the old vault has, and changes nothing else`() throws {
        let (owner, shell) = (try Shell(), try Shell())
        let share = owner.home.path.string + "/share"
        let environment = "export VAULT_PASSPHRASE_FILE=~/.passphrase XDG_RUNTIME_DIR=~/run; "
        for device in [owner, shell] {
            _ = try device.run("umask 077; cp pass .passphrase; mkdir run share")
            #expect(try device.run(environment + "vault init --kdf interactive").status == 0)
        }
        let script = """
            printf one | vault add common.example ada --class internet --protocol https --label Common
            printf two | vault add proj DB --label Database --attr team=web
            printf three | vault add twin.example ada
            """
        #expect(try owner.run(environment + script + "; vault remote add file://\(share)").status == 0)
        #expect(try shell.run(environment + script + "; printf 'a\\0b' | vault add own bytes").status == 0)
        let commands = try Self.recipe()
        #expect(commands.count == 8)
        for command in commands {
            let command = command.replacingOccurrences(of: "file:///srv/share", with: "file://\(share)")
                .replacingOccurrences(of: "vault init", with: "vault init --kdf interactive")
            if command.contains("--join") {
                let code = try shell.firstLine(ofAside: environment + command + " --timeout 60")
                try owner.home.write(Array(code.utf8), to: "code")
                #expect(
                    try owner.run(environment + "chmod 600 code; vault device approve --yes --code-file code").status
                        == 0)
                #expect(try shell.endOfAside() == 0)
                continue
            }
            let result = try shell.run(environment + command + (command.contains(" export ") ? " --yes" : ""))
            #expect(result.status == 0, "\(command): \(result.error)")
            guard command.contains("import") else { continue }
            #expect(result.error.contains("added 1, updated 0, unchanged 3, differs 0, skipped 0"), "\(result.error)")
        }
        #expect(
            try owner.run(environment + "vault sync 2>/dev/null; vault get own bytes | od -An -c").output.contains(
                "a  \\0   b"))
        #expect(try owner.run(environment + "vault history proj DB | wc -l").output == "1\n")
    }
}

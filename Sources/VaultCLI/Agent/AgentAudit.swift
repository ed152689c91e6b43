// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultStorage

struct Audit: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Print who did what, and check that nobody changed the log.",
        discussion: """
            'vault agent --audit' keeps the log: when, which verb on which items, by which process. It holds no value, no service and no account.
            A line that was changed, removed or put in makes the command end with 20. Lines that were cut off its end show when the next one
            has been written.
            """)

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Print the lines as they are, which is JSON.")
    var json = false

    func run() throws {
        guard let directory = VaultEnvironment.system.stateDirectory else {
            throw CommandError(.inputOutput, "there is no place for a log", hint: "set HOME or XDG_STATE_HOME")
        }
        let locked = try vault.locked()
        let path = AuditLog.path(of: locked.vaultID, in: directory)
        guard let content = FileManager.default.contents(atPath: path.string) else {
            throw CommandError(.notFound, "there is no log of this vault", hint: "'vault agent --audit' keeps one")
        }
        let access = try VaultAccess(vault, groups: nil, purpose: .reveal, onlyReads: true)
        let (entries, firstChanged) = try access.withVault { vault in
            if let client = vault as? AgentClient, client.greeting.isAuditing { return try client.checkAuditLog() }
            guard let vault = vault as? Vault else {
                throw CommandError(.failure, "the agent keeps no log, and cannot check one", hint: "use --passphrase-file FILE")
            }
            return try AuditLog.check(with: vault, in: directory)
        }
        if json { try Output.write(Array(content).span) } else { try Output.write(Audit.table(content)) }
        if let firstChanged {
            throw CommandError(.damaged, "line \(firstChanged) of \(entries) is not the one that was written")
        }
        Output.note("\(entries) lines, each as it was written")
    }

    private static func table(_ content: Data) -> String {
        content.split(separator: UInt8(ascii: "\n")).map { line in
            guard let line = try? JSONDecoder().decode(AuditLog.Entry.self, from: Data(line)) else { return "(not a line of a log)\n" }
            let what = line.error ?? line.count.map { "\($0) items" } ?? line.items.joined(separator: ",")
            let fields = [line.time, line.verb, what, String(line.pid), line.executable ?? "", line.unit ?? ""]
            return fields.map(\.printable).joined(separator: "\t") + "\n"
        }.joined()
    }
}

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
        abstract: "Print the audit log, and check it for changes.",
        discussion: """
            'vault agent --audit' keeps the log: the time of each access, the verb, the items, and the process. The \
            log contains no value, no service and no account; items that still exist are shown with their current \
            names. The command ends with 20 if a line was changed, removed, inserted or cut off.
            """)

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Print the lines unchanged, as JSON.")
    var json = false

    func run() throws {
        guard let directory = VaultEnvironment.system.stateDirectory else {
            throw CommandError(.inputOutput, "there is no place for a log", hint: "set HOME or XDG_STATE_HOME")
        }
        let locked = try vault.locked()
        guard AuditLog.exists(of: locked.vaultID, in: directory) else {
            throw CommandError(.notFound, "there is no log of this vault", hint: "'vault agent --audit' keeps one")
        }
        let access = try VaultAccess(vault, groups: .ofCommand, purpose: .reveal, onlyReads: true)
        var names: [String: String] = [:]
        let (entries, firstChanged) = try access.withVault { vault in
            // Looked up first, since the agent logs this access as well.
            names = json ? [:] : try Audit.names(in: vault)
            return try vault.checkAuditLog(in: directory)
        }
        // Lines that were added after the check are not shown.
        var (shown, part) = (0, [UInt8]())
        try AuditLog.forEachLine(of: locked.vaultID, in: directory) { line in
            guard shown < entries else { return }
            shown += 1
            part += json ? JSONText.escaped((line + [UInt8(ascii: "\n")]).span) : Array(Audit.row(line, names).utf8)
            guard part.count > 1 << 16 else { return }
            try Output.write(part.span)
            part = []
        }
        try Output.write(part.span)
        if let firstChanged {
            let what = firstChanged > entries ? "the log ends before line \(firstChanged), which was written" : nil
            throw CommandError(.damaged, what ?? "line \(firstChanged) of \(entries) is not the one that was written")
        }
        Output.note("\(entries) lines, each as it was written")
    }

    /// Returns the names of the existing items. The log itself contains neither services nor accounts.
    private static func names(in vault: any OpenVault) throws -> [String: String] {
        var names: [String: String] = [:]
        for itemClass in ItemClass.allCases {
            for item in try vault.allMatching(Query(itemClass).withoutQuestions) {
                guard let id = item.record?.id.uuidString.lowercased() else { continue }
                names[id] = item.phrase(namingGroup: false)
            }
        }
        return names
    }

    private static func row(_ line: [UInt8], _ names: [String: String]) -> String {
        guard let line = try? JSONDecoder().decode(AuditLog.Entry.self, from: Data(line)) else {
            return "(not a line of a log)\n"
        }
        let what =
            line.error.map { error in line.count.map { "\(error) (\($0) times)" } ?? error }
            ?? line.count.map { "\($0) items" } ?? line.items.map { names[$0] ?? $0 }.joined(separator: "; ")
        let time = Time(rfc3339: line.time)?.text ?? line.time
        var fields = [time, line.verb, what, String(line.pid), line.executable ?? "", line.unit ?? ""]
        if let door = line.via { fields.append("via \(door.executable ?? "a client") (pid \(door.pid))") }
        return fields.map(\.printable).joined(separator: "\t") + "\n"
    }
}

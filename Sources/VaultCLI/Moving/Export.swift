// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultImport
internal import VaultSSHAgent

enum ExportFormat: String, FormatName, CaseIterable {
    case kdbx, bitwarden, cxf, csv, pass

    static let all = allCases
    var name: String { rawValue }

    var meaning: String {
        switch self {
        case .kdbx: "a database of KeePassXC, encrypted with its own passphrase, by keepassxc-cli"
        case .bitwarden: "Bitwarden's JSON, in clear"
        case .cxf: "FIDO's Credential Exchange Format, with passkeys and ssh keys, in clear"
        case .csv: "comma-separated values, in clear text; --layout names the program"
        case .pass: "a directory as pass uses it, each file encrypted by gpg for --recipient"
        }
    }

    var isClear: Bool { [.bitwarden, .cxf, .csv].contains(self) }
}

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export items to another product.",
        discussion: """
            vault export FORMAT FILE, where FORMAT is one of:
            \(ExportFormat.list)

            Asks for confirmation before anything leaves the vault, unless --yes is given. The file is new, has mode \
            0600, and appears completely or not at all. The command counts what the format has no room for.

            With --files DIR instead, the command writes what 'vault import --files' stored, byte for byte, each file \
            with mode 0600 in a new directory with mode 0700, which appears with all of the files or not at all.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(
        help: ArgumentHelp("The format of the file.", valueName: "format"),
        completion: .list(ExportFormat.allCases.map(\.rawValue)))
    var formatName: String?

    @Argument(help: "The file to create, or the directory for pass.", completion: .file())
    var file: String?

    @Option(help: ArgumentHelp("Write files to this new directory.", valueName: "directory"), completion: .directory)
    var files: String?

    @Option(help: "The service of the files; else 'files'.")
    var service: String?

    @Option(help: "The access group.")
    var group: String?

    @Option(
        help: ArgumentHelp(
            "csv: \(CSVLayout.written.joined(separator: ", ")).", valueName: "product"),
        completion: .list(CSVLayout.written))
    var layout = "apple"

    @Option(help: ArgumentHelp("pass: the key that opens the files, as named for gpg.", valueName: "key"))
    var recipient: String?

    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var passphrase: FilePassphraseOptions

    private func format() throws -> ExportFormat? { try Suggestion.format(formatName, of: "export") }

    func validate() throws {
        // An unknown format is reported when the command runs, with a suggestion.
        let format = try? format()
        guard (formatName == nil) != (files == nil) else {
            throw ValidationError("a format, or --files DIRECTORY, is missing")
        }
        guard formatName == nil || file != nil else { throw ValidationError("the name of the new file is missing") }
        guard service == nil || files != nil else { throw ValidationError("--service goes with --files") }
        guard CSVLayout.written.contains(layout) else {
            throw ValidationError("--layout takes \(CSVLayout.written.joined(separator: ", "))")
        }
        guard (format == .pass) == (recipient != nil) else {
            throw ValidationError("--recipient goes with pass, which wants it")
        }
    }

    private var groups: AccessGroups { .named(group) }

    func run() throws {
        if let files {
            return try FilesExport(directory: files, service: service ?? FileTree.service, groups: groups).run(vault)
        }
        guard let format = try format(), let file else { return }
        let access = try vault.access(groups, onlyReads: true)
        guard !access.isInjectOnly else {
            throw CommandError(
                .failure, "refused: the agent's policy lets this program use secrets, but not export them")
        }
        if format != .pass {
            guard !OutputFile(file).exists else {
                throw CommandError(.alreadyExists, "the file exists", hint: "name a new one")
            }
        }
        try confirmation.checkPossible()
        let given = try passphrase.given()
        var hasFindings = false
        try access.withVault { vault in
            do { hasFindings = try export(vault, as: format, to: file, given) } catch let error as ImportError {
                throw CommandError(error, of: file)
            }
        }
        if hasFindings { throw DoneWithFindings() }
    }

    /// - Returns: whether the format has no room for a part with content.
    private func export(
        _ vault: any OpenVault, as format: ExportFormat, to file: String, _ given: Secret?
    ) throws -> Bool {
        let items: [Item] = try [.genericPassword, .internetPassword].flatMap { try vault.allMatching(Query($0)) }
        let passkeys = try vault.passkeys(of: nil).map(\.item)
        // No format supports these classes, apart from passkeys, which is reported.
        let others: [Item] = try [.certificate, .key].flatMap { itemClass in
            try vault.allMatching(Query(itemClass).withoutQuestions).filter { Passkey($0) == nil }
        }
        let count = items.count + passkeys.count
        guard count > 0 else { throw CommandError(.notFound, "there is nothing to export") }
        let how = format.isClear ? "IN CLEAR" : "encrypted"
        try confirmation.ask("Write \(count.grouped) items \(how) to '\(file.printable)'?")
        var entries = try Progress.during("opening") { report in
            try ExportedEntries(items + passkeys + others, progress: report)
        }
        switch format {
        case .csv:
            guard let layout = CSVLayout.named(layout) else { return false }
            try write(CSVExport.text(&entries, for: layout), to: file)
        case .bitwarden: try write(BitwardenExport.text(&entries), to: file)
        case .cxf:
            let text = try CXFExport.text(&entries) { file in
                SSHKeyConversion.exported(file: file).map { (type: $0.type, comment: $0.comment, key: $0.key) }
            }
            try write(text, to: file)
        case .kdbx:
            let chosen = try given ?? newPassphrase()
            guard !chosen.withBytes({ bytes in bytes.indices.contains { bytes[$0] == 0x0a } }), chosen.count > 0 else {
                throw CommandError.usage(
                    "the passphrase of a database must have at least one character, and no newline")
            }
            let database = try Progress.during("encrypting") { report in
                try KeePassExport.database(&entries, passphrase: chosen, .ofProcess(report))
            }
            try write(database, to: file)
        case .pass: try writeTree(&entries, to: file)
        }
        let written = entries.entries.count - entries.missing
        let what = written == 1 ? "one entry" : "\(written.grouped) entries"
        Output.note("wrote \(what)\(format.isClear ? ", in clear" : "")")
        for (what, count) in entries.leftOut.sorted(by: { $0.key < $1.key }) {
            Output.warn("the format has no room for \(what): \(count.grouped) left out")
        }
        if entries.unstated > 0 {
            Output.note(
                "the format has no room for what the vault's commands know of \(entries.unstated.grouped) items")
        }
        return !entries.leftOut.isEmpty
    }

    private func write(_ text: Secret, to file: String) throws {
        try text.withBytes { try OutputFile(file).replace(with: $0) }
    }

    private func writeTree(_ entries: inout ExportedEntries, to directory: String) throws {
        guard let recipient else { return }
        let target = ExportDirectory(directory, option: "pass")
        try target.check()
        try Progress.during("encrypting") { report in
            try target.fill { write in
                try PassExport.write(&entries, for: recipient, .ofProcess(report)) { name, bytes in
                    try bytes.withBytes { try write(name, $0) }
                }
            }
        }
    }

    private func newPassphrase() throws -> Secret {
        guard let terminal = Terminal() else {
            throw CommandError(
                .locked, "no passphrase of the database: no option provides it, and there is no terminal",
                hint: "--file-passphrase-file FILE")
        }
        return try terminal.readTwice("Passphrase of the database: ") { Secret($0) }
    }
}

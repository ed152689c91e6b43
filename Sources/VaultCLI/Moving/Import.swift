// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultImport

/// `vault import`.
///
/// Size: each property is an option.
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import items from another product.",
        discussion: """
            vault import FORMAT [FILE], where FORMAT is one of:
            \(ImportFormat.list)

            vault import FILE detects the format, if the file reveals it.

            Each item remembers its source: a second run adds nothing, takes over changes of the source, and reports \
            what changed on both sides. The command writes nothing in clear on the way, and imports nothing from a \
            malformed file.

            With --files DIR instead, every regular file below the directory becomes a generic password: its path in \
            the directory is the account, its bytes are the secret. One transaction stores all of them, or none.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(
        help: ArgumentHelp("The format of the source.", valueName: "format"),
        completion: .list(ImportFormat.all.map(\.name)))
    var formatName: String?

    @Argument(help: "The file or directory; - for standard input.", completion: .file())
    var file: String?

    @Option(help: ArgumentHelp("Store the files below this directory.", valueName: "directory"), completion: .directory)
    var files: String?

    @Option(help: "The service; else 'files' for files, and the name of the directory for variables.")
    var service: String?

    @Option(help: "The access group.")
    var group: String?

    @Option(help: ArgumentHelp("Import this many older passwords of each new item, newest first.", valueName: "number"))
    var history = 0

    @Flag(help: "Replace items that differ.")
    var replace = false

    @Flag(help: "Show the result without making changes.")
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "plaintext: remove imported secrets from the files, without asking.")
    var remove = false

    @Flag(
        help: """
            Believe the file as a backup of your own: also groups and services on which programs rely, and protection \
            classes that leave items readable while the vault is locked.
            """)
    var asBackup = false

    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var passphrase: FilePassphraseOptions

    private func format() throws -> ImportFormat? {
        guard let path = loneFile else { return try Suggestion.format(formatName, of: "import") }
        guard let format = try ImportFormat.guessed(from: path) else {
            throw CommandError.usage(
                "cannot recognize the format of '\(path.printable)'",
                hint: "'vault help import' lists the formats to name before it")
        }
        return format
    }

    private var loneFile: String? { formatName.flatMap { file == nil && ImportFormat.isFile($0) ? $0 : nil } }

    func validate() throws {
        // An unknown format is reported when the command runs, with a suggestion.
        let format = try? format()
        guard (formatName == nil) != (files == nil) else {
            throw ValidationError("a format, or --files DIRECTORY, is missing")
        }
        if let format, let reason = format.noFile, file != nil {
            throw ValidationError("'\(format.name)' takes no file: \(reason)")
        }
        guard (0...1000).contains(history) else { throw ValidationError("--history takes 0 to 1000") }
        guard history == 0 || format?.hasHistory == true else {
            throw ValidationError("--history goes with kdbx, bitwarden and 1pux")
        }
        guard files == nil || !(dryRun || json || asBackup) else {
            throw ValidationError("--dry-run, --json and --as-backup go with a format")
        }
        guard !confirmation.yes || asBackup else { throw ValidationError("--yes goes with --as-backup") }
        guard service == nil || files != nil || format?.takesService == true else {
            throw ValidationError("--service goes with --files and with env")
        }
        guard !remove || !dryRun && format?.clearFiles.isEmpty == false else {
            throw ValidationError("--remove goes with plaintext and the programs' formats, and not with --dry-run")
        }
    }

    private var groups: AccessGroups { .named(group) }

    func run() throws {
        if let files {
            return try FilesImport(
                directory: files, service: service ?? FileTree.service, groups: groups, replaces: replace
            ).run(vault)
        }
        guard let format = try format() else { return }
        let file = file ?? loneFile
        if let loneFile { Output.note("'\(loneFile.printable)' is read as \(format.name)") }
        guard file != "-" || vault.passphrase.passphraseFd != 0 else {
            throw CommandError.usage("standard input cannot be both the file and the passphrase")
        }
        let access = try vault.access(groups)
        guard format.clearFiles.isEmpty else {
            return try PlaintextSweep(
                formats: format.clearFiles, file: file, access: access, group: groups.first, replaces: replace,
                isDryRun: dryRun, isJSON: json, removes: remove
            ).run()
        }
        let source = ImportSource(format: format, file: file, service: service, passphrase: passphrase)
        let reading = Concurrent { try Progress.during("reading") { report in try source.logins(.ofProcess(report)) } }
        // Questions come one after the other, and after the report of a malformed file.
        if access.asksNobody, source.asksNobody { reading.begin() } else { _ = try reading.value }
        let report: ImportReport
        do {
            report = try access.withVault { vault in
                let logins = try reading.value
                let name = logins.product ?? format.name
                return try Import.carryOut(
                    ImportPlan(
                        logins, of: name, from: name == "firefox" ? nil : source.origin, in: vault, group: groups.first,
                        within: ImportTrust(group: group, isBackup: asBackup),
                        keepsFilesApart: format.takesService && service == nil, replaces: replace, history: history),
                    of: name, in: vault, isDryRun: dryRun, asking: askForReserved)
            }
        } catch {
            // A malformed file is reported before a wrong passphrase.
            _ = try reading.value
            throw error
        }
        let logins = try reading.value
        let isClear = format.isClear && !logins.wereEncrypted
        let output = ImportOutput(report: report, source: logins.product ?? format.name, isDryRun: dryRun)
        try output.write(asJSON: json)
        guard !report.hasFindings else { throw DoneWithFindings() }
        if isClear, !dryRun, let file, file != "-" {
            Output.note("'\(file.printable)' has everything in clear: delete it when it is no longer needed")
        }
    }

    private func askForReserved(_ report: ImportReport) throws {
        guard !report.reserved.isEmpty else { return }
        for item in report.reserved.prefix(50) { Output.note("programs rely on: \(item.printable)") }
        if report.reserved.count > 50 { Output.note("\(report.reserved.count - 50) more") }
        try confirmation.ask("Import them as well, from a backup of your own?")
    }

    /// - Parameter ask: asks for what the plan adds; its error leaves everything as it is.
    static func carryOut(
        _ plan: @autoclosure () throws -> ImportPlan, of source: String, in vault: any OpenVault, isDryRun: Bool,
        asking ask: (ImportReport) throws -> Void = { _ in }
    ) throws -> ImportReport {
        do {
            var plan = try plan()
            guard !isDryRun else { return plan.report }
            try ask(plan.report)
            try Progress.during("storing") { report in try plan.carryOut(report) }
            if let longest = plan.report.longestHistory {
                let kept = try olderVersions(ofItemFrom: longest.source, in: vault)
                if kept < longest.count {
                    Output.warn("the vault keeps \(kept) older versions of an item: 'vault history --keep' sets it")
                }
            }
            return plan.report
        } catch ImportError.outside(let error as VaultError) where error == .duplicateItem {
            throw CommandError(
                .changed, "another process added items with these names",
                hint: "run it again: existing items stay, and nothing is imported twice")
        } catch let error as ImportError {
            throw CommandError(error, of: source)
        }
    }
}

extension Import {
    private static func olderVersions(ofItemFrom source: String, in vault: any OpenVault) throws(VaultError) -> Int {
        for itemClass in [ItemClass.genericPassword, .internetPassword] {
            let query = Query(itemClass, userAttributes: [ItemNames.source: source])
            guard try vault.contains(query) else { continue }
            return try vault.versions(matching: query).count - 1
        }
        return 0
    }
}

extension ImportOutput {
    func write(asJSON: Bool) throws {
        tell()
        try ImportOutput.tellingAll(isDryRun) {
            if asJSON { try Output.json(self) } else if isDryRun { try Output.write(table) }
        }
    }

    /// Writes the result: unless this is a dry run, the items are stored by now, whether it can be written or not.
    static func tellingAll(_ isDryRun: Bool, _ body: () throws -> Void) throws {
        guard !isDryRun else { return try body() }
        try Output.after("the import is done", hint: "run it again to see the list: nothing is imported twice", body)
    }
}

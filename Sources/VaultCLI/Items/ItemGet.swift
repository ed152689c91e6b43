// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultFormat

struct Get: PlainCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print an item's secret, or an attribute of it.",
        discussion: """
            Writes the secret's exact bytes; a newline follows only on a terminal. If two devices changed the item \
            concurrently, a note says so on standard error, if that is a terminal. 'vault show' prints all other parts \
            of the item.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection
    @OptionGroup var part: FieldOption

    @Option(
        name: .customLong("attr"), help: ArgumentHelp("Print this attribute instead of the secret.", valueName: "name"))
    var attribute: String?

    @Flag(help: "Print the item as JSON.")
    var json = false

    @Flag(help: "With --json: include the secrets.")
    var reveal = false

    @Flag(help: "Write the secret to a terminal even if it is not text.")
    var force = false

    func validate() throws {
        guard [json, attribute != nil, part.field != nil].filter({ $0 }).count <= 1 else {
            throw ValidationError("--attr, --field and --json exclude each other")
        }
        guard !reveal || json else { throw ValidationError("--reveal goes with --json") }
    }

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let vault = VaultOptions(&plain), let selection = ItemSelection(&plain), let part = FieldOption(&plain)
        else { return nil }
        (self.vault, self.selection, self.part) = (vault, selection, part)
        attribute = plain.value("--attr")
        (json, reveal, force) = (plain.flag("--json"), plain.flag("--reveal"), plain.flag("--force"))
    }

    func run() throws {
        try vault.access(selection.groups, onlyReads: true).withVault { vault in
            let needsSecret = attribute == nil && part.field == nil && (!json || reveal)
            let item = try selection.only(in: vault, secrets: needsSecret)
            if let attribute {
                let isSeen = Terminal.isTerminal(STDOUT_FILENO)
                guard let value = item.attribute(named: attribute, isForPerson: isSeen) else {
                    throw CommandError(
                        .notFound, "the item has no such attribute",
                        hint: NearMiss.hint(attribute: attribute, of: item))
                }
                try Output.line(isSeen ? value.printableLines.joined(separator: "\n") : value)
            } else if json {
                try ItemOutput(item: item).write(revealing: reveal)
            } else {
                try part.secret(of: item).show(force: force)
            }
            noteConflict(of: item, in: vault)
        }
    }

    /// Notes a conflict for the user; skipped in scripts, to save the look-up.
    private func noteConflict(of item: Item, in vault: any CommandVault) {
        guard Terminal.isTerminal(STDERR_FILENO), let record = item.record,
            (try? vault.hasConflict(record)) == true
        else { return }
        Output.note("this item has a conflict: see 'vault conflicts'")
    }
}

extension Secret {
    /// Writes the exact bytes, followed by a newline on a terminal.
    ///
    /// - Parameter force: whether to write bytes to a terminal that are not displayable text.
    func show(force: Bool) throws {
        let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
        try withBytes { bytes in
            if isTerminal, !force, !bytes.isText {
                throw CommandError.usage("the secret is not text", hint: "send it to a file, or use --force")
            }
            try Output.write(bytes)
        }
        if isTerminal { try Output.write("\n") }
    }
}

extension Span<UInt8> {
    /// Whether the bytes are UTF-8 without characters that a terminal obeys.
    var isText: Bool {
        guard isUTF8 else { return false }
        var index = 0
        while index < count {
            guard let (scalar, length) = scalar(at: index) else { return false }
            if scalar.isObeyed, scalar != "\n", scalar != "\t" { return false }
            index += length
        }
        return true
    }
}

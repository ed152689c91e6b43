// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultStorage

struct Compact: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Rewrite the file without the secrets that it no longer keeps.",
        discussion: """
            Until then, anyone who knows the passphrase can read deleted and replaced secrets in the file. Those that \
            the vault keeps, as older versions and deleted items, stay: 'vault history --purge' removes them. No \
            program can wipe old blocks of a disk.
            """)

    @OptionGroup var vault: VaultOptions

    func run() throws {
        try vault.access(.ofCommand).withVault { vault in try Progress.during("compacting") { _ in try vault.compact() }
        }
    }
}

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every byte of a vault.", discussion: "With --deep, the command also opens every secret.")

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Open every secret.")
    var deep = false

    @OptionGroup var output: JSONOption

    @Flag(help: "Continue with this file, although this device has seen a newer one or another vault in its place.")
    var acceptOlder = false

    @Flag(help: "With --accept-older: do not ask for confirmation.")
    var yes = false

    func validate() throws {
        guard acceptOlder || !yes else { throw ValidationError("--yes goes with --accept-older") }
    }

    func run() throws {
        guard acceptOlder else { return try vault.access(.ofCommand, onlyReads: true).withVault { try verify($0) } }
        // The file is rewritten with a generation above the one that this device has seen.
        try vault.withOpened(acceptsOlderCopy: true, before: confirm) { vault, _ in
            try Output.after("this device accepts the file from now on") { try verify(vault) }
        }
    }

    private func confirm() throws {
        if !yes { try Confirmation.ask("Go on from this file? What a newer one had is lost then.") }
    }

    private func verify(_ vault: any OpenVault) throws {
        let result = try Progress.during("verifying") { _ in try vault.verify(deep: deep) }
        if result.invalidMarks > 0 {
            Output.warn(
                "one of the two commit marks is torn or was changed; the next change of the vault repairs it")
        }
        guard output.json else {
            var line = "\(result.items) items in \(result.commits) commits, \(result.values) secrets"
            if result.versions > 0 { line += ", \(result.versions) older versions" }
            if deep { line += ", \(result.opened) of them opened" }
            if result.foreign > 0 { line += ", \(result.foreign) of another device" }
            if result.unfinishedBytes > 0 { line += ", and \(result.unfinishedBytes) bytes of an unfinished commit" }
            return try Output.line(line)
        }
        try Output.json([
            "items": result.items, "versions": result.versions, "values": result.values, "opened": result.opened,
            "commits": result.commits, "foreign": result.foreign, "unfinishedBytes": result.unfinishedBytes,
            "invalidMarks": result.invalidMarks,
        ])
    }
}

struct Generate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Print a random secret.", discussion: "Prints its entropy on standard error.")

    @Option(help: "The number of characters: letters, digits and symbols.")
    var length: Int?

    @Option(help: "The number of words, joined by hyphens, instead of characters.")
    var words: Int?

    @Option(help: ArgumentHelp("The symbols to choose from; \"\" for none.", valueName: "set"))
    var symbols: String?

    @OptionGroup var output: JSONOption

    func validate() throws {
        guard length == nil || words == nil else { throw ValidationError("--length and --words exclude each other") }
        guard symbols == nil || words == nil else { throw ValidationError("--symbols goes with characters") }
        if let length, !(1...4096).contains(length) { throw ValidationError("--length takes 1 to 4096") }
        if let words, !(1...256).contains(words) { throw ValidationError("--words takes 1 to 256") }
        if let symbols {
            let isUsable =
                symbols.utf8.allSatisfy { (0x21...0x7e).contains($0) }
                && !symbols.contains { $0.isLetter || $0.isNumber }
            guard isUsable, Set(symbols).count == symbols.count else {
                throw ValidationError(
                    "--symbols takes different characters of ASCII that are no letters, digits or spaces")
            }
        }
    }

    func run() throws {
        let generator =
            try words.map { try Generator.words($0) }
            ?? Generator.characters(length ?? 24, symbols: symbols ?? Generator.defaultSymbols)
        let bits = Int(generator.entropyBits)
        let secret = generator.bytes()
        guard !output.json else {
            var text = try SecretBuffer(capacity: secret.count + 64)
            // The generator's letters, digits, symbols and words need no escapes.
            try text.append("{\"entropyBits\":\(bits),\"secret\":\"".utf8)
            try secret.withBytes { try text.append(shownEscaping: $0) }
            try text.append("\"}\n".utf8)
            return try text.bytes().withBytes { try Output.write($0) }
        }
        try secret.withBytes { try Output.write($0) }
        try Output.write("\n")
        Output.note("\(bits) bits of entropy")
    }
}

struct Completion: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print a completion script.",
        discussion: "For bash: vault completion bash > ~/.local/share/bash-completion/completions/vault")

    @Argument(help: "bash, zsh or fish.", completion: .list(CompletionScript.allCases.map(\.rawValue)))
    var shell: String

    func run() throws {
        guard let script = CompletionScript(rawValue: shell) else {
            throw CommandError.usage("completion takes bash, zsh or fish")
        }
        try Output.line(script.text)
    }
}

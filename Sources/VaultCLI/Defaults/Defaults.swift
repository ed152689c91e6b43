// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultCrypto

struct Defaults: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults",
        abstract: "Read and write settings of applications, like macOS's 'defaults'.",
        discussion: """
            A suite's settings are items of the service SUITE, one for each key, which SecureDefaults reads and \
            writes.
            """,
        subcommands: [
            DefaultsRead.self, DefaultsWrite.self, DefaultsDelete.self, DefaultsImport.self, DefaultsExport.self,
        ])
}

/// The options that select a suite of a vault.
struct DefaultsOptions: ParsableArguments {
    @OptionGroup var vault: VaultOptions

    @Option(help: "The access group.")
    var group: String?

    @Argument(help: "The suite: the service of its items.", completion: ItemCompletion.names)
    var suite: String

    func validate() throws {
        guard !suite.isEmpty else { throw ValidationError("the suite is empty") }
    }

    /// Runs the body on the suite; an invalid value is reported with its key.
    func withSuite<R>(onlyReads: Bool = false, _ body: (SecureDefaults) throws -> R) throws -> R {
        let groups = AccessGroups.named(group)
        // Reading and writing use the same group, or keys would appear twice.
        let own = groups.first.map { AccessGroups([$0]) } ?? groups
        return try vault.access(own, onlyReads: onlyReads).withVault { try body(SecureDefaults(suite: suite, in: $0)) }
    }
}

struct DefaultsRead: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Print a setting, or all settings of a suite.",
        discussion: "Prints a text unchanged, and an array or dictionary like macOS's 'defaults', or as JSON.")

    @OptionGroup var options: DefaultsOptions

    @Argument(help: "The key; all keys if omitted.")
    var key: String?

    @Flag(help: "Print JSON: data in base64, times as RFC 3339.")
    var json = false

    func run() throws {
        let value = try options.withSuite(onlyReads: true) { defaults -> SecretValue in
            guard let key else {
                let all = try defaults.ownValues()
                guard !all.isEmpty else { throw CommandError(.notFound, "no such suite") }
                return .dictionary(all)
            }
            guard let value = try defaults.value(forKey: key) else { throw CommandError(.notFound, "no such key") }
            return value
        }
        guard json else {
            let text = value.defaultsText
            let isSeen = Terminal.isTerminal(STDOUT_FILENO)
            return try Output.line(isSeen ? text.printableLines.joined(separator: "\n") : text)
        }
        try Output.write(JSONText.escaped(Array(try value.json()).span).span)
        try Output.write("\n")
    }
}

struct DefaultsWrite: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write", abstract: "Write a setting.",
        usage: "vault defaults write <suite> <key> [-string|-int|-float|-bool|-date|-data] [<value>]",
        discussion: """
            The type precedes the value: -string TEXT, -int N, -float X, -bool yes|no, -date 2026-01-31T12:00:00Z, \
            -data HEX, -array TEXT ..., -dict KEY TEXT ...; -array-add and -dict-add add to the existing value. A \
            value without a type is a text. An omitted value is read from standard input: use that for secrets, since \
            every process of the machine can see arguments.
            """)

    @OptionGroup var options: DefaultsOptions

    @Argument(help: "The key.")
    var key: String

    @Argument(parsing: .allUnrecognized, help: "The type and the value.")
    var value: [String] = []

    func run() throws {
        let change = try DefaultsArguments.change(value) {
            guard options.vault.passphrase.passphraseFd != 0 else {
                throw CommandError.usage("standard input cannot give both the passphrase and the value")
            }
            guard let text = Secret(try SecretOptions.prompted()).secretString() else {
                throw CommandError.usage("the value is not UTF-8", hint: "-data takes hexadecimal digits")
            }
            return text
        }
        try options.withSuite { defaults in
            switch change {
            case .set(let value): try defaults.set(value, forKey: key)
            case .append(let elements):
                try defaults.amend(key) { old in
                    guard let array = old == nil ? [] : old?.array else {
                        throw CommandError(.failure, "the stored value is not an array")
                    }
                    return .array(array + elements)
                }
            case .merge(let members):
                try defaults.amend(key) { old in
                    guard let dictionary = old == nil ? [:] : old?.dictionary else {
                        throw CommandError(.failure, "the stored value is not a dictionary")
                    }
                    return .dictionary(dictionary.merging(members) { $1 })
                }
            }
        }
    }
}

struct DefaultsDelete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a setting, or all settings of a suite.")

    @OptionGroup var options: DefaultsOptions

    @Argument(help: "The key; all keys if omitted.")
    var key: String?

    @OptionGroup var confirmation: ConfirmationOption

    func run() throws {
        if key == nil { try confirmation.checkPossible() }
        try options.withSuite { defaults in
            if let key {
                guard try defaults.hasOwnValue(forKey: key) else { throw CommandError(.notFound, "no such key") }
                return try defaults.removeValue(forKey: key)
            }
            let count = try defaults.keys().count
            guard count > 0 else { throw CommandError(.notFound, "no such suite") }
            try confirmation.ask("Delete \(count.grouped) settings of \(options.suite.printable)?")
            try defaults.removeAll()
        }
    }
}

struct DefaultsImport: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import settings from a property list.",
        discussion: "The file is a dictionary, binary or XML; '-' is standard input. Imports all of it, or nothing.")

    @OptionGroup var options: DefaultsOptions

    @Argument(help: "The file.", completion: .file())
    var file: String

    func run() throws {
        let limit = 64 << 20
        let tooLong = CommandError(.usage, "a property list has at most 64 MiB here")
        if file == "-", options.vault.passphrase.passphraseFd == 0 {
            throw CommandError.usage("standard input cannot give both the passphrase and the property list")
        }
        let bytes =
            file == "-"
            ? try SecretReader.read(STDIN_FILENO, limit: limit, tooLong: tooLong)
            : try SecretReader.read(file: file, limit: limit, tooLong: tooLong)
        let value = try bytes.withBytes { try SecretValue(propertyList: $0.array) }
        guard let settings = value.dictionary else { throw CommandError.usage("the property list is no dictionary") }
        try options.withSuite { defaults in
            try defaults.transaction { (draft: inout SecureDefaults.Draft) throws(VaultError) in
                for (key, value) in settings { draft.set(value, forKey: key) }
            }
        }
        Output.note("took \(settings.count.grouped) settings")
    }
}

struct DefaultsExport: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export a suite as a property list.",
        discussion: "The file has mode 0600, and appears completely or not at all; '-' is standard output.")

    @OptionGroup var options: DefaultsOptions

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Flag(help: "Write the binary format instead of XML.")
    var binary = false

    @Flag(help: "Replace an existing file.")
    var yes = false

    func run() throws {
        let output = OutputFile(file)
        guard file == "-" || yes || !output.exists else {
            throw CommandError(.alreadyExists, "the file exists", hint: "to replace it: --yes")
        }
        let settings = try options.withSuite(onlyReads: true) { try $0.ownValues() }
        guard !settings.isEmpty else { throw CommandError(.notFound, "no such suite") }
        let bytes = Array(try SecretValue.dictionary(settings).propertyList(binary ? .binary : .xml))
        if file == "-" { try Output.write(bytes.span) } else { try output.replace(with: bytes.span, durably: true) }
    }
}

extension CommandError {
    init(_ error: ValueFormatError) {
        switch error {
        case .notAPropertyList: self.init(.damaged, "this is no property list")
        case .malformed(let offset): self.init(.damaged, "the property list is damaged at byte \(offset)")
        case .tooDeep: self.init(.damaged, "the value is nested deeper than \(SecretValue.deepest) levels")
        case .tooLarge: self.init(.damaged, "the value has too many parts")
        case .unrepresentable(let path):
            self.init(
                .failure, "the format cannot represent the value at '\(path.printable)'", hint: "--json can say null")
        case .notJSON: self.init(.damaged, "this is no JSON")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultCrypto

struct Run: PlainCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with secrets in its environment.",
        discussion: """
            vault run --env TOKEN=vault://SERVICE/ACCOUNT -- COMMAND …

            The command replaces vault: the exit code and the signals are the command's own. With --mask, the secrets \
            are removed from its standard output and standard error, and the command keeps its terminal; output that \
            may be the beginning of a secret is shown with the output after it. In the lines NAME=VALUE of a file of \
            variables, a value may be a reference, and so may the whole value of any variable that already exists.
            """)

    @OptionGroup var vault: VaultOptions

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp("A variable with a secret; may be repeated.", valueName: "name=vault://…"),
        completion: ItemCompletion.namedReferences)
    var variables: [NamedReference] = []

    @Option(
        name: .customLong("path"),
        help: ArgumentHelp(
            "A variable with the path of a file in memory that contains the secret; may be repeated.",
            valueName: "name=vault://…"), completion: ItemCompletion.namedReferences)
    var paths: [NamedReference] = []

    @Option(help: ArgumentHelp("A file of variables; may be repeated.", valueName: "file"), completion: .file())
    var envFile: [String] = []

    @Flag(help: "Remove the secrets from the command's output.")
    var mask = false

    @Option(help: "The access group.")
    var group: String?

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("the command is missing: write it after --") }
        let isIdle = variables.isEmpty && paths.isEmpty && envFile.isEmpty && Run.inherited.isEmpty
        guard !isIdle else { throw ValidationError("there is no secret to pass") }
    }

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let vault = VaultOptions(&plain) else { return nil }
        self.vault = vault
        let named = plain.values("--env")
        variables = named.compactMap(NamedReference.init(argument:))
        (paths, envFile, mask) = ([], [], plain.flag("--mask"))
        (group, command) = (plain.value("--group"), plain.command())
        guard variables.count == named.count else { return nil }
    }

    func run() throws {
        let access = try vault.access(.named(group), for: .use, onlyReads: true)
        let files = try envFile.map(Run.read)
        for file in files {
            file.bare.warn { "line \($0.line): '\($0.text)' is only a part of the value, and stays as it is" }
        }
        let inherited = Run.inherited.compactMap { variable in
            let reference = NamedReference(argument: variable)
            // The variable may be meant for another program.
            if reference == nil {
                Output.warn("a variable begins like a reference but is not one: it is passed unchanged")
            }
            return reference
        }
        var secrets: [Secret] = []
        var values: [String: Secret] = [:]
        try access.withVault { vault in
            func take(_ name: String, _ reference: SecretReference) throws -> Secret {
                let secret = try reference.secret(in: vault, for: name)
                secrets.append(secret)
                return secret
            }
            // The body may run a second time, after a prompt.
            (secrets, values) = ([], [:])
            // Variables on the command line take precedence, so overridden ones are not looked up.
            let named = Set(files.flatMap { $0.variables.map(\.name) } + (variables + paths).map(\.name))
            for variable in inherited where !named.contains(variable.name) {
                values[variable.name] = try take(variable.name, variable.reference)
            }
            for (name, value) in files.flatMap(\.variables) {
                switch value {
                case .plain(let secret): values[name] = secret
                case .reference(let reference): values[name] = try take(name, reference)
                }
            }
            for variable in variables { values[variable.name] = try take(variable.name, variable.reference) }
            for variable in paths {
                let path = try SealedFile.make(take(variable.name, variable.reference))
                values[variable.name] = Secret(try SecretBytes(copying: Array(path.utf8).span))
            }
        }
        let child = try Child(command, variables: values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        // With a rule against accidents, a command that prints its environment prints no secret.
        guard mask || access.isInjectOnly else { try child.replaceThisProcess() }
        if access.isInjectOnly, try secrets.contains(where: { try Mask.isTooShort($0) }) {
            throw CommandError(
                .failure,
                """
                refused: a secret of fewer than \(Mask.leastLength) bytes cannot be masked, and the agent's policy \
                lets this program see none
                """
            )
        }
        if try secrets.contains(where: { try Mask.isTooShort($0) }) {
            Output.warn("a secret of fewer than \(Mask.leastLength) bytes is not masked")
        }
        try MaskedRun.run(child, hiding: secrets)
    }

    private static func read(_ file: String) throws -> EnvironmentFile {
        let tooLong = CommandError(.usage, "a file of variables has at most 1 MiB")
        let bytes = try SecretReader.read(file: file, limit: 1 << 20, tooLong: tooLong)
        return try EnvironmentFile(Secret(bytes))
    }

    /// The references in this process's own environment, as set by the parent process.
    private static var inherited: [String] { ProcessEnvironment.variables(beginningWith: SecretReference.scheme) }
}

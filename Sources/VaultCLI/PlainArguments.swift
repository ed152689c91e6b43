// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The arguments of a frequent command in its plain form: words, options with a value, and flags.
///
/// ArgumentParser finds a command's options by reflection, which costs about 25 million instructions in a process
/// that has 2 million of its own to do. A ``PlainCommand`` takes its arguments from here instead. The parser still
/// handles all other arguments, including mistakes: it alone knows messages, help and completions.
struct PlainArguments {
    /// The options of all plain commands that have a value.
    private static let valued: Set<String> = [
        "--vault", "--passphrase-file", "--key-file", "--group", "--field", "--attr", "--env",
    ]

    private static let flags: Set<String> = ["--json", "--reveal", "--force", "--mask", CargoCredential.option]

    private var words: ArraySlice<String> = []
    private var values: [(option: String, value: String)] = []
    private var given: Set<String> = []
    private var behindTerminator: ArraySlice<String>?

    /// - Returns: `nil` if an argument is neither a word nor a known option with its value.
    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                words.append(argument)
                continue
            }
            guard argument != "--" else {
                behindTerminator = rest
                return
            }
            if Self.flags.contains(argument) {
                guard given.insert(argument).inserted else { return nil }
            } else if Self.valued.contains(argument) {
                guard let value = rest.popFirst(), !value.hasPrefix("-") else { return nil }
                values.append((argument, value))
            } else {
                return nil
            }
        }
    }

    /// Whether a command has taken every argument.
    var isUsedUp: Bool { words.isEmpty && values.isEmpty && given.isEmpty && behindTerminator?.isEmpty ?? true }

    /// Takes the next word.
    mutating func word() -> String? { words.popFirst() ?? behindTerminator?.popFirst() }

    /// Takes the words after `--`.
    mutating func command() -> [String] {
        defer { behindTerminator = nil }
        return Array(behindTerminator ?? [])
    }

    /// Takes the value of an option. A second value remains, so that the arguments are not used up.
    mutating func value(_ option: String) -> String? {
        values.firstIndex { $0.option == option }.map { values.remove(at: $0).value }
    }

    /// Takes all values of an option, in order.
    mutating func values(_ option: String) -> [String] {
        var found: [String] = []
        while let value = value(option) { found.append(value) }
        return found
    }

    /// Takes a flag.
    mutating func flag(_ name: String) -> Bool { given.remove(name) != nil }
}

/// A command that can take its arguments without the parser.
protocol PlainCommand: ParsableCommand {
    /// Sets every property: reading an unset one would trap.
    ///
    /// - Returns: `nil` if a word is missing or a value is invalid.
    init?(_ plain: inout PlainArguments)
}

extension PlainCommand {
    fileprivate static func taking(_ arguments: ArraySlice<String>) -> Self? {
        guard var plain = PlainArguments(arguments), let command = Self(&plain) else { return nil }
        return plain.isUsedUp && command.isValid ? command : nil
    }
}

extension ParsableArguments {
    /// Whether the parser would accept the combination of values.
    var isValid: Bool {
        var values = self
        return (try? values.validate()) != nil
    }
}

enum PlainCommands {
    /// - Parameter arguments: the arguments of the process, beginning with the command's name.
    /// - Returns: `nil` if the arguments are left to the parser.
    static func command(_ arguments: [String]) -> (any ParsableCommand)? {
        type(arguments.first)?.taking(arguments.dropFirst())
    }

    /// Returns the command of a name. A list of all types would cost a witness table for each of them, which the
    /// runtime makes at the first use.
    private static func type(_ name: String?) -> (any PlainCommand.Type)? {
        switch name {
        case "get": Get.self
        case "read": Read.self
        case "otp": Otp.self
        case "run": Run.self
        case "git-credential": GitCredential.self
        case "docker-credential": DockerCredential.self
        case "cargo-credential": CargoCredential.self
        default: nil
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultFIDO
internal import VaultStorage
internal import VaultSync
internal import VaultSystem

/// The `vault` command.
package enum CommandLineTool {
    /// Runs the command of the process's arguments and ends the process.
    package static func main() -> Never {
        // Before any file is opened.
        clinux_reserve_standard_streams()
        // Before any secret is in memory: no process of the same user may inspect this one, and core dumps are
        // disabled.
        _ = clinux_set_undumpable()
        _ = clinux_forbid_core_dumps()
        clinux_reset_crash_handlers()
        clinux_ignore_file_size_signal()
        setHandlerOfLastResort {
            // The failure may have come before a change or after.
            Output.fail(
                CommandError(.unknownOutcome, "the kernel provides no random numbers", hint: "look with 'vault find'"))
            _exit(ExitStatus.unknownOutcome.rawValue)
        }
        let arguments: [String]
        do throws(ProcessArguments.Flaw) { arguments = try ProcessArguments.read() } catch {
            let words =
                switch error {
                case .notText: "an argument is not UTF-8"
                case .unknown: "the system did not pass the arguments"
                }
            Output.fail(.usage(words))
            exit(ExitStatus.usage.rawValue)
        }
        exit(run(HelperAccess.arguments(arguments)).rawValue)
    }

    private static func run(_ given: [String]) -> ExitStatus {
        var arguments = given
        do {
            if arguments == ["help", "exit-codes"] {
                try Output.write(exitCodes)
                return .done
            }
            if arguments == ["--version"] {
                try Output.line(version)
                return .done
            }
            arguments = normalized(arguments)
            if arguments.first == "help", let failure = Suggestion.forUnknownCommand(in: arguments) { throw failure }
            var command: any ParsableCommand
            do { command = try parse(arguments) } catch {
                if let failure = Suggestion.forLongOption(in: arguments) { throw failure }
                guard isUsage(error) else { throw error }
                if let failure = Suggestion.forUnknownCommand(in: arguments) { throw failure }
                if !isAboutValue(error), let failure = Suggestion.forUnknownOption(in: arguments) { throw failure }
                if arguments.first == "inject", let failure = failure(error), failure.message == unexpectedArgument {
                    throw CommandError.usage(failure.message, hint: "name the template with -i FILE")
                }
                throw error
            }
            try command.run()
            return .done
        } catch is DoneWithFindings {
            return .findings
        } catch { return report(error, of: Suggestion.command(in: arguments)) }
    }

    /// Whether the parser's message is about the value of an option.
    private static func isAboutValue(_ error: any Error) -> Bool {
        let message = failure(error)?.message ?? ""
        return message.hasPrefix("missing value") || message.hasPrefix("not a value")
    }

    private static func isUsage(_ error: any Error) -> Bool {
        failure(error)?.status == .usage && !(error is CommandError)
    }

    static func parse(_ arguments: [String]) throws -> any ParsableCommand {
        try PlainCommands.command(arguments) ?? VaultCommand.parseAsRoot(arguments)
    }

    /// Rewrites the arguments for the parser. Arguments after `--` are never options.
    static func normalized(_ arguments: [String]) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.count
        return withGenerateLength(withOptionsLast(Array(arguments[..<end]))) + arguments[end...]
    }

    /// Turns `vault --vault F get` into `vault get --vault F`.
    private static func withOptionsLast(_ arguments: [String]) -> [String] {
        var count = 0
        while count < arguments.count {
            let name = arguments[count].prefix { $0 != "=" }
            guard ["--vault", "--passphrase-file", "--passphrase-fd", "--key-file"].contains(name) else { break }
            count += name.count == arguments[count].count ? 2 : 1
        }
        guard count > 0, count < arguments.count else { return arguments }
        return Array(arguments[count...] + arguments[..<count])
    }

    /// Turns `--generate` alone into a length of 24 characters; a number after it is the length.
    private static func withGenerateLength(_ arguments: [String]) -> [String] {
        var output: [String] = []
        for (index, argument) in arguments.enumerated() {
            let isNumber = !argument.isEmpty && argument.utf8.allSatisfy { (0x30...0x39).contains($0) }
            if index > 0, arguments[index - 1] == "--generate", isNumber {
                output[output.count - 1] = "--generate=" + argument
            } else {
                output.append(argument == "--generate" ? "--generate=24" : argument)
            }
        }
        return output
    }

    static let version = "0.1.0"

    private static var exitCodes: String {
        ExitStatus.allCases.map { status in
            let code = String(status.rawValue)
            return String(repeating: " ", count: 3 - code.count) + code + "  " + status.meaning + "\n"
        }.joined()
    }

    private static func report(_ error: any Error, of command: [String]) -> ExitStatus {
        guard let failure = failure(error, of: command) else {
            let help = UnlockTopic.shortened(VaultCommand.fullMessage(for: error))
            return (try? Output.line(help)) == nil ? .inputOutput : .done
        }
        Output.fail(failure)
        return failure.status
    }

    /// - Parameter command: the command whose arguments could not be parsed, if any: `slot add` is two words.
    /// - Returns: `nil` if the user asked for help.
    static func failure(_ error: any Error, of command: [String] = []) -> CommandError? {
        switch error {
        case let error as CommandError: error
        case let error as VaultError: CommandError(error)
        case let error as StorageError: CommandError(error)
        case let error as CryptoError: CommandError(error)
        case let error as SyncError: CommandError(error)
        case let error as RecordStoreError: CommandError(SyncError.store(error))
        case let error as SecurityKeyError: CommandError(error)
        case let error as ValueFormatError: CommandError(error)
        case let error as OneTimePasswordError: CommandError(error)
        case _ where VaultCommand.exitCode(for: error) == .success: nil
        default: CommandError(.usage, plain(VaultCommand.message(for: error)), hint: Suggestion.help(for: command))
        }
    }

    private static let unexpectedArgument = "unexpected argument"

    /// Rewrites a parser's message in the house style. The parser quotes arguments, and a surplus one may be a secret:
    /// such quotes are left out.
    private static func plain(_ message: String) -> String {
        let line = message.split(separator: "\n").first.map(String.init) ?? "unusable arguments"
        if line.contains("nexpected argument") { return unexpectedArgument }
        let quoted = line.split(separator: "'", omittingEmptySubsequences: false).enumerated().filter {
            $0.offset % 2 == 1
        }.map(\.element)
        let option = quoted.last { $0.hasPrefix("--") }.map { $0.prefix { $0.isLetter || $0 == "-" } }
        // The typed text may be anything, such as a secret: see `Suggestion.forUnknownOption`.
        if line.hasPrefix("Unknown option") { return "unknown option" }
        if line.contains("is invalid for") { return "not a value for \(option.map { "'\($0)'" } ?? "an argument")" }
        let trimmed = line.hasSuffix(".") ? String(line.dropLast()) : line
        return (trimmed.first.map { $0.lowercased() } ?? "") + trimmed.dropFirst()
    }
}

extension CommandError {
    init(_ error: CryptoError) {
        switch error {
        case .outOfMemory, .unavailable: self.init(.resources, "not enough memory")
        default: self.init(StorageError(error))
        }
    }
}

struct VaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Keeps secrets.",
        discussion: """
            A vault is one encrypted file: --vault FILE, else $VAULT_FILE, else ~/.local/share/vault/default.vault. \
            Exit codes: 'vault help exit-codes'.
            """,
        version: CommandLineTool.version,
        subcommands: [
            ClearClipboard.self, RemoveUnfinished.self, Manual.self, BrowserHost.self, UnlockTopic.self,
            CompleteLine.self,
        ],
        groupedSubcommands: [
            CommandGroup(
                name: "Every day",
                subcommands: [
                    Init.self, Add.self, SetItem.self, Get.self, Show.self, Find.self, Browse.self, Edit.self,
                    Update.self,
                    Delete.self,
                    Copy.self,
                    Otp.self, Generate.self,
                    Unlock.self, Lock.self,
                ]),
            CommandGroup(
                name: "For programs",
                subcommands: [Read.self, Run.self, Inject.self, Defaults.self, DeviceID.self, Forget.self]),
            CommandGroup(
                name: "For other programs",
                subcommands: [
                    GitCredential.self, DockerCredential.self, CargoCredential.self, Credential.self, SSHAdd.self,
                ]),
            CommandGroup(name: "Older versions", subcommands: [History.self, Undo.self, RestoreItem.self]),
            CommandGroup(
                name: "Copies",
                subcommands: [Backup.self, Restore.self, SalvageCommand.self, Import.self, Export.self]),
            CommandGroup(
                name: "Many devices", subcommands: [Remote.self, Sync.self, Conflicts.self, Device.self]),
            CommandGroup(
                name: "The vault",
                subcommands: [
                    Status.self, Doctor.self, Verify.self, Compact.self, Passwd.self, Slot.self, Rekey.self, Agent.self,
                    Doors.self, Browsers.self, Passkeys.self, Audit.self,
                    Completion.self,
                ]),
        ])
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultStorage

/// The `vault` command.
public enum CommandLineTool {
    /// Runs the command of the process's arguments and ends the process.
    public static func main() -> Never {
        // Before anything is opened.
        clinux_reserve_standard_streams()
        // Before anything secret is in memory: nobody of the same user may look into it, and it is in no core dump.
        _ = clinux_set_undumpable()
        _ = clinux_forbid_core_dumps()
        clinux_reset_crash_handlers()
        clinux_ignore_file_size_signal()
        setHandlerOfLastResort {
            // It may be before a change or after.
            Output.fail(CommandError(.unknownOutcome, "the kernel gives no random numbers", hint: "look with 'vault find'"))
            _exit(ExitStatus.unknownOutcome.rawValue)
        }
        guard argumentsAreText else {
            Output.fail(.usage("an argument is not UTF-8"))
            exit(ExitStatus.usage.rawValue)
        }
        exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Bytes that are no text would be repaired, and two different names become the same.
    private static var argumentsAreText: Bool {
        for index in 0..<Int(CommandLine.argc) {
            // argv has argc strings, each of which ends with a zero byte.
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
            if unsafe String(validatingCString: argument) == nil { return false }
        }
        return true
    }

    private static func run(_ arguments: [String]) -> ExitStatus {
        do {
            if arguments == ["help", "exit-codes"] {
                try Output.write(exitCodes)
                return .done
            }
            var command = try parse(arguments)
            try command.run()
            return .done
        } catch {
            return report(error)
        }
    }

    static func parse(_ arguments: [String]) throws -> any ParsableCommand {
        try VaultCommand.parseAsRoot(withGenerateLength(arguments))
    }

    /// `--generate` alone means 24 characters. Behind `--` it is somebody's service.
    private static func withGenerateLength(_ arguments: [String]) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.count
        return arguments[..<end].map { $0 == "--generate" ? "--generate=24" : $0 } + arguments[end...]
    }

    private static var exitCodes: String {
        ExitStatus.allCases.map { status in
            let code = String(status.rawValue)
            return String(repeating: " ", count: 3 - code.count) + code + "  " + status.meaning + "\n"
        }.joined()
    }

    private static func report(_ error: any Error) -> ExitStatus {
        guard let failure = failure(error) else {
            return (try? Output.line(VaultCommand.fullMessage(for: error))) == nil ? .inputOutput : .done
        }
        Output.fail(failure)
        return failure.status
    }

    /// Nil: somebody asked for help, and that is it.
    static func failure(_ error: any Error) -> CommandError? {
        switch error {
        case let error as CommandError: error
        case let error as VaultError: CommandError(error)
        case let error as StorageError: CommandError(error)
        case let error as CryptoError: CommandError(error)
        case _ where VaultCommand.exitCode(for: error) == .success: nil
        default: CommandError(.usage, plain(VaultCommand.message(for: error)), hint: "see 'vault help'")
        }
    }

    /// A parser's message in the style of the house. It quotes arguments, and a surplus one may be a secret: that is not repeated.
    private static func plain(_ message: String) -> String {
        let line = message.split(separator: "\n").first.map(String.init) ?? "unusable arguments"
        if line.contains("nexpected argument") { return "unexpected argument" }
        let quoted = line.split(separator: "'", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        let option = quoted.last { $0.hasPrefix("--") }.map { $0.prefix { $0.isLetter || $0 == "-" } }
        if line.hasPrefix("Unknown option") {
            let isName = option.map { name in
                quoted.first.map { $0.hasPrefix(name) && ($0.count == name.count || $0.dropFirst(name.count).hasPrefix("=")) } == true
            }
            return isName == true ? "unknown option '\(option ?? "")'" : "unknown option"
        }
        if line.contains("is invalid for") { return "not a value for \(option.map { "'\($0)'" } ?? "an argument")" }
        let trimmed = line.hasSuffix(".") ? String(line.dropLast()) : line
        return (trimmed.first.map { $0.lowercased() } ?? "") + trimmed.dropFirst()
    }
}

extension CommandError {
    init(_ error: CryptoError) {
        switch error {
        case .authenticationFailed: self.init(.wrongPassphrase, "wrong passphrase")
        case .outOfMemory, .unavailable: self.init(.resources, "not enough memory")
        case .unacceptableKeyFile: self.init(StorageError.unacceptableKeyFile)
        case .unacceptablePassphrase(let flaw): self.init(StorageError.unacceptablePassphrase(flaw))
        case .unacceptableRecoveryCode(let flaw): self.init(StorageError.unacceptableRecoveryCode(flaw))
        }
    }
}

struct VaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Keeps secrets.",
        discussion: """
            A vault is one encrypted file: --vault FILE, else $VAULT_FILE, else ~/.local/share/vault/default.vault.
            Exit codes: 'vault help exit-codes'.
            """,
        version: "0.1.0",
        subcommands: [
            Init.self, Add.self, Set.self, Get.self, Find.self, Update.self, Delete.self, Status.self, Doctor.self, Passwd.self,
            Slot.self, Rekey.self, Compact.self, Verify.self, Backup.self, Restore.self, SalvageCommand.self, History.self, Undo.self,
            RestoreItem.self, Forget.self, DeviceID.self, Generate.self, Read.self, Run.self, Inject.self, Copy.self, Otp.self,
            ClearClipboard.self,
            Unlock.self, Lock.self, Agent.self, Audit.self, Import.self,
            Export.self, Completion.self, Manual.self,
        ])
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault
import VaultStorage

/// Runs each command with each of its system calls made to fail, one at a time, by `strace`.
///
/// Regardless of the failing call, the command reports the failure and ends with a code of its own; the vault has its
/// former content or, if the command succeeded, the new content; and the next writer succeeds.
struct Faults {
    /// The system calls by which the command reaches the disk, the random numbers and the locked memory.
    private static let calls = [
        Call("openat", "EIO", "EMFILE", "EROFS", isOfManyFiles: true), Call("pread64", "EIO", isOfManyFiles: true),
        Call("newfstatat", "EIO", isOfManyFiles: true), Call("fcntl", "EIO", "ENOLCK", isOfManyFiles: true),
        Call("pwrite64", "EDQUOT", "EIO", "ENOSPC", "EINTR", writes: true),
        Call("fdatasync", "EIO", "ENOSPC", "EDQUOT", "EINTR", writes: true),
        Call("fsync", "EIO", "ENOSPC", "EINTR", writes: true),
        Call("fallocate", "ENOSPC", "EIO", "EDQUOT", "EOPNOTSUPP", writes: true), Call("ftruncate", "EIO"),
        Call("linkat", "EIO", "ENOSPC", "EPERM"),
        Call("renameat", "EIO", "ENOSPC", writes: true), Call("renameat2", "EIO", "EINVAL"), Call("unlinkat", "EIO"),
        Call("mkdir", "EIO", "ENOSPC"), Call("write", "EIO", "ENOSPC", writes: true),
        Call("getrandom", "EIO", "ENOSYS"),
        Call("mlock", "ENOMEM"),
    ]

    private struct Call {
        let name: String
        let errors: [String]
        /// Whether the loader and the libraries also make the call, so that only calls on the vault's files are made to
        /// fail.
        let isOfManyFiles: Bool
        let writes: Bool

        /// Whether a command may be unable to tell if a change took effect when this call fails.
        var leavesDoubt: Bool { ["fdatasync", "fsync", "ftruncate", "getrandom"].contains(name) }

        init(_ name: String, _ errors: String..., isOfManyFiles: Bool = false, writes: Bool = false) {
            (self.name, self.errors, self.isOfManyFiles, self.writes) = (name, errors, isOfManyFiles, writes)
        }
    }

    private static let ownFiles = ["torture.vault", ".torture.vault.lock", "."].flatMap { ["-P", $0] }

    /// The commands that the short form runs.
    private static let essential: Set<String> = [
        "init", "set", "delete", "passwd", "compact", "rekey", "restore", "import",
    ]

    private static let commands: [(arguments: [String], input: String)] = [
        (["init", "--vault", "new.vault", "--kdf", "interactive"], ""), (["add", "service", "new"], "a new secret"),
        (["set", "service", "kept"], "another secret"),
        (["update", "service", "kept", "--accessible", "when-unlocked,this-device"], ""),
        (["delete", "service", "kept", "--yes"], ""), (["get", "service", "kept"], ""), (["find"], ""),
        (["passwd", "--kdf", "interactive", "--new-passphrase-file", "second"], ""), (["compact"], ""),
        (["verify", "--deep"], ""),
        (["device-id", "application"], ""), (["history", "--keep", "2"], ""), (["slot", "add", "recovery-code"], ""),
        (["slot", "remove", "spare", "--yes"], ""),
        (["rekey", "--yes", "--kdf", "interactive", "--new-passphrase-file", "second"], ""),
        (["backup", "copied"], ""), (["restore", "backup", "--yes", "--accept-older"], ""),
        (["salvage", "salvaged"], ""),
        (["forget", "--group", "default", "--yes"], ""),
        (["import", "--files", "files"], ""), (["export", "--files", "exported", "--service", "service"], ""),
        (["status"], ""),
    ]

    let scratch: Scratch
    let binary: String
    /// Whether to inject every error of every call, instead of only the first error of the calls that write.
    let isThorough: Bool

    private struct Outcome {
        var status: Int32
        var message: String
        var trace: String
    }

    func run() throws -> Bool {
        // With a cheaper slot, each command would also rewrite the slot at a higher cost.
        let vault = try scratch.make(cost: .interactive)
        for (account, secret) in [("kept", "a secret"), ("other", "a secret of the other")] {
            try vault.add(
                Item(.genericPassword(service: "service", account: account), secret: Secret(bytes: Array(secret.utf8))))
        }
        _ = try vault.addRecoveryCode(name: "spare")
        try vault.backUp(to: FilePath(scratch.directory).appending("backup"))
        vault.close()
        for name in Scratch.passphrases { try write(name, to: name) }
        try FileManager.default.createDirectory(
            atPath: scratch.directory + "/files", withIntermediateDirectories: false)
        try write("a file", to: "files/one")
        var (runs, faults) = (0, 0)
        for (arguments, input) in Self.commands where isThorough || Self.essential.contains(arguments[0]) {
            let before = try content(of: scratch)
            let (clean, ended) = try start(
                arguments, input, tracing: ["-e", "trace=" + Self.calls.map(\.name).joined(separator: ",")])
            guard ended.status == 0 else { throw Failure(text: "\(arguments[0]) fails by itself: \(ended.message)") }
            let after = try content(of: clean)
            for call in Self.calls where ended.trace.contains(" \(call.name)(") && (isThorough || call.writes) {
                for error in isThorough ? call.errors : [call.errors[0]] {
                    var number = 1
                    while true {
                        let fault = [
                            "-e", "trace=\(call.name)", "-e", "inject=\(call.name):error=\(error):when=\(number)",
                        ]
                        let (ran, outcome) = try start(
                            arguments, input, tracing: fault + (call.isOfManyFiles ? Self.ownFiles : []))
                        guard outcome.trace.contains("(INJECTED)") else { break }
                        runs += 1
                        for fault in try judge(
                            outcome, ran, mayBeInDoubt: call.leavesDoubt || arguments[0] == "init", before, after)
                        {
                            let command = arguments.joined(separator: " ")
                            say("fault: \(command): \(error) at \(call.name) \(number): \(fault)")
                            faults += 1
                        }
                        number += 1
                    }
                }
            }
        }
        say("faults: \(runs) system calls that failed, \(faults) faults")
        return faults == 0 && runs > Self.essential.count
    }

    private struct Failure: Error { let text: String }

    private func write(_ text: String, to name: String) throws {
        let path = scratch.directory + "/" + name
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else {
            throw Failure(text: "cannot write \(path)")
        }
    }

    /// Runs the command on a copy of the scratch directory.
    private func start(_ arguments: [String], _ input: String, tracing: [String]) throws -> (
        scratch: Scratch, outcome: Outcome
    ) {
        let copy = Scratch(directory: scratch.directory + "-copy")
        try? FileManager.default.removeItem(atPath: copy.directory)
        try FileManager.default.copyItem(atPath: scratch.directory, toPath: copy.directory)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/strace")
        process.currentDirectoryURL = URL(filePath: copy.directory)
        let trace = copy.directory + "/trace"
        process.arguments = ["-f", "--seccomp-bpf", "--quiet=all", "-o", trace] + tracing + [binary] + arguments
        process.environment = [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": copy.directory, "XDG_STATE_HOME": copy.directory + "/state",
            "VAULT_FILE": copy.vault.string, "VAULT_PASSPHRASE_FILE": copy.directory + "/" + Scratch.passphrases[0],
            "SWIFT_BACKTRACE": "enable=no",
        ]
        let (standardInput, errors) = (Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let message = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        let calls = String(decoding: try Data(contentsOf: URL(filePath: trace)), as: UTF8.self)
        return (copy, Outcome(status: status, message: message, trace: calls))
    }

    private func judge(
        _ outcome: Outcome, _ ran: Scratch, mayBeInDoubt: Bool, _ before: [String], _ after: [String]
    ) throws -> [String] {
        var faults: [String] = []
        switch outcome.status {
        case 0, 30: break
        case 31: if !mayBeInDoubt { faults.append("an outcome that could be known") }
        default: faults.append("status \(outcome.status)")
        }
        if outcome.status != 0, !outcome.message.hasPrefix("vault: ") {
            faults.append("no message but '\(outcome.message)'")
        }
        if ["a secret", "a new secret", "another secret"].contains(where: outcome.message.contains) {
            faults.append("a secret in '\(outcome.message)'")
        }
        do {
            let content = try content(of: ran) { vault in
                _ = try vault.verify(deep: true)
                try vault.add(Item(.genericPassword(service: "next", account: "next"), secret: Secret(bytes: [1])))
            }
            let expected =
                switch outcome.status {
                case 0: [after]
                case 31: [before, after]
                default: [before]
                }
            if !expected.contains(content) { faults.append("status \(outcome.status) and \(content)") }
        } catch { faults.append("the next one gets \(error)") }
        return faults
    }

    /// Returns the state that a command can change: the passphrase, the items, and the files beside the vault.
    private func content(of scratch: Scratch, then use: (Vault) throws -> Void = { _ in }) throws -> [String] {
        var query = Query(.genericPassword)
        query.returnsSecrets = true
        for passphrase in Scratch.passphrases {
            guard let vault = try scratch.open(with: passphrase) else { continue }
            let found = (try? vault.copyMatching(query)) ?? []
            let items = try found.map { item in
                // A random secret differs between runs.
                let secret = item[.service] == "device-identifier" ? "an identifier" : try item.text
                return "\(item[.account] ?? "") \(item[.accessible] ?? "") \(secret)"
            }
            try use(vault)
            vault.close()
            let files = ["new.vault", "exported", "copied", "salvaged"].filter {
                FileManager.default.fileExists(atPath: scratch.directory + "/" + $0)
            }
            return [passphrase] + items.sorted() + files
        }
        throw VaultError.storage(.wrongPassphrase)
    }
}

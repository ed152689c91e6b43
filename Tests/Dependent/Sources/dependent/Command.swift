// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The released `vault` command.
struct Command: Sendable {
    let path: String

    struct Failure: Error { let what: String }

    /// Runs the command, or `program` if given, in the environment of `home`.
    ///
    /// - Returns: The standard output.
    /// - Throws: An error with the output and the message if the exit code is not 0.
    @discardableResult
    func run(_ arguments: [String], in home: Home, input: String = "", program: String? = nil) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program ?? path)
        process.arguments = arguments
        process.environment = home.environment
        let (output, error, stdin) = (Pipe(), Pipe(), Pipe())
        (process.standardOutput, process.standardError, process.standardInput) = (output, error, stdin)
        try process.run()
        stdin.fileHandleForWriting.write(Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        let answer = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            // A background agent may still hold standard error open, so only the available bytes are read.
            let message = String(decoding: error.fileHandleForReading.availableData, as: UTF8.self)
            let text = String(decoding: answer, as: UTF8.self) + message
            throw Failure(what: "\(arguments.joined(separator: " ")): \(process.terminationStatus): \(text)")
        }
        return String(decoding: answer, as: UTF8.self)
    }
}

/// An empty home directory and the environment variables that point a process to its vault.
final class Home {
    let directory: String
    var variables: [String: String] = [:]

    var vault: String { directory + "/v.vault" }
    var passphraseFile: String { directory + "/passphrase" }
    static let passphrase = "correct horse battery staple"

    var environment: [String: String] {
        let own = [
            "HOME": directory, "VAULT_FILE": vault, "XDG_STATE_HOME": directory + "/state",
            "XDG_RUNTIME_DIR": directory + "/run",
            "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
        ]
        return own.merging(variables) { $1 }
    }

    init() throws {
        directory = NSTemporaryDirectory() + "/dependent-" + UUID().uuidString
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        for name in ["", "/run", "/state"] {
            try FileManager.default.createDirectory(
                atPath: directory + name, withIntermediateDirectories: true, attributes: attributes)
        }
        try write(Data(Home.passphrase.utf8), to: passphraseFile)
    }

    /// Makes a home with a vault that this process finds and unlocks by its environment.
    convenience init(withVaultOf command: Command) throws {
        try self.init()
        try makeVault(command)
        variables["VAULT_PASSPHRASE_FILE"] = passphraseFile
        enter()
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func write(_ data: Data, to path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600])
        else {
            throw Command.Failure(what: "cannot write \(path)")
        }
    }

    /// Makes a vault with the cheapest key derivation that the command offers.
    func makeVault(_ command: Command) throws {
        try command.run(["init", "--kdf", "interactive", "--passphrase-file", passphraseFile], in: self)
    }

    /// Sets the environment variables of this process.
    func enter() {
        for name in [
            "VAULT_PASSPHRASE_FILE", "VAULT_KEY_FILE", "VAULT_ACCESS_GROUPS", "VAULT_AGENT_SOCK",
            "CREDENTIALS_DIRECTORY",
        ] {
            unsetenv(name)
        }
        for (name, value) in environment { setenv(name, value, 1) }
    }
}

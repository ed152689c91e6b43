// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Reads secrets from descriptors and files straight into locked memory.
enum SecretReader {
    /// Reads to the end.
    ///
    /// - Parameter limit: the maximum number of bytes; more is an error.
    static func read(_ descriptor: Int32, limit: Int, tooLong: any Error) throws -> SecretBytes {
        var capacity = min(limit + 1, 65_536)
        var buffer = try SecretBytes(zeroed: capacity)
        var length = 0
        while true {
            if length == capacity {
                guard capacity <= limit else { throw tooLong }
                capacity = min(limit + 1, capacity * 4)
                var larger = try SecretBytes(zeroed: capacity)
                buffer.withBytes { larger.replace(at: 0, with: $0) }
                buffer = larger
            }
            let count = try fill(&buffer, from: length, descriptor)
            if count == 0 { break }
            length += count
        }
        guard length <= limit else { throw tooLong }
        return try buffer.copy(of: 0..<length)
    }

    /// Passes on the bytes of a descriptor, in parts, to its end.
    static func parts(of descriptor: Int32, _ take: (Span<UInt8>) throws -> Void) throws {
        var buffer = try SecretBytes(zeroed: 65_536)
        while true {
            let count = try fill(&buffer, from: 0, descriptor)
            guard count > 0 else { return }
            try buffer.withBytes { try take($0.extracting(0..<count)) }
        }
    }

    private static func fill(_ buffer: inout SecretBytes, from start: Int, _ descriptor: Int32) throws -> Int {
        do throws(Errno) {
            return try buffer.withMutableBytes { bytes throws(Errno) in
                try Descriptor.read(descriptor, into: &bytes, from: start)
            }
        } catch { throw CommandError.cannot("read the input", error) }
    }

    static func read(file path: String, limit: Int, tooLong: any Error, warnsOfReaders: Bool = false) throws
        -> SecretBytes
    {
        let file = try opened("open '\(path.printable)'", try Descriptor(opening: path, O_RDONLY))
        if warnsOfReaders, let mode = file.regularFile?.mode, mode & 0o077 != 0 {
            Output.warn("others may read '\(path.printable)'")
        }
        return try read(file.number, limit: limit, tooLong: tooLong)
    }
}

/// The sources of the passphrase.
struct PassphraseOptions: ParsableArguments {
    @Option(file: "Read the passphrase from this file.")
    var passphraseFile: String?

    @Option(help: ArgumentHelp("Read the passphrase from this descriptor.", valueName: "number"))
    var passphraseFd: Int32?

    func validate() throws {
        guard passphraseFile == nil || passphraseFd == nil else {
            throw ValidationError("--passphrase-file and --passphrase-fd exclude each other")
        }
    }

    /// Whether the command line names a source of the passphrase.
    var isNamed: Bool { passphraseFile != nil || passphraseFd != nil }

    /// Whether a passphrase is available without a prompt.
    var hasSource: Bool {
        isNamed || ProcessEnvironment.variable("VAULT_PASSPHRASE_FILE") != nil
            || PassphraseOptions.credential != nil
    }

    /// The systemd credential `vault.passphrase`.
    private static var credential: String? {
        guard let directory = ProcessEnvironment.variable("CREDENTIALS_DIRECTORY") else { return nil }
        let file = directory + "/vault.passphrase"
        return FileManager.default.fileExists(atPath: file) ? file : nil
    }

    /// - Parameter hint: the option to use instead.
    static func noSource(hint: String) -> CommandError {
        CommandError(.locked, "no passphrase: no option provides it, and there is no terminal", hint: hint)
    }

    /// Returns the passphrase from the sources named on the command line or in the environment; `nil` if there are
    /// none.
    func given() throws -> Passphrase? {
        if let descriptor = passphraseFd { return try PassphraseOptions.read(descriptor: descriptor) }
        let variable = ProcessEnvironment.variable("VAULT_PASSPHRASE_FILE")
        return try (passphraseFile ?? variable ?? PassphraseOptions.credential).map {
            try PassphraseOptions.read(file: $0)
        }
    }

    static func read(file: String) throws -> Passphrase {
        try Passphrase(line: SecretReader.read(file: file, limit: 4096, tooLong: tooLong, warnsOfReaders: true))
    }

    static func read(descriptor: Int32) throws -> Passphrase {
        // A command run later would inherit the descriptor, and could read it again.
        defer { clinux_forget_descriptor(descriptor) }
        return try Passphrase(line: SecretReader.read(descriptor, limit: 4096, tooLong: tooLong))
    }

    /// - Parameter option: the option that provides the passphrase without a terminal.
    static func askNew(_ prompt: String, orElse option: String) throws -> Passphrase {
        guard let terminal = Terminal() else { throw noSource(hint: option) }
        return try terminal.readTwice(prompt) { try Passphrase($0) }
    }

    private static let tooLong = CommandError(.usage, "the passphrase is longer than 1024 bytes")
}

/// The sources of an item's secret: never an argument.
struct SecretOptions: ParsableArguments {
    @Option(file: "Read the secret from this file, exactly.")
    var file: String?

    @Option(help: ArgumentHelp("Read the secret from this descriptor, exactly.", valueName: "number"))
    var fd: Int32?

    @Flag(help: "Keep the trailing newline of standard input.")
    var exact = false

    @Flag(help: "Store an empty secret if the input is empty.")
    var allowEmpty = false

    @Flag(help: "Ask for several lines, ended by Ctrl-D.")
    var multiline = false

    @Option(
        help: ArgumentHelp("Make a random secret of this length (24), and do not print it.", valueName: "length"))
    var generate: Int?

    func validate() throws {
        guard [file != nil, fd != nil, generate != nil].filter({ $0 }).count <= 1 else {
            throw ValidationError("--file, --fd and --generate exclude each other")
        }
        guard !multiline || file == nil && fd == nil && generate == nil else {
            throw ValidationError("--multiline is for a prompt, and goes with none of --file, --fd and --generate")
        }
        if let generate, !(1...4096).contains(generate) {
            throw ValidationError("--generate takes 1 to 4096 characters")
        }
    }

    /// Whether the secret is read from standard input when it is not a terminal.
    var usesStandardInput: Bool { file == nil && generate == nil && !multiline && (fd == nil || fd == 0) }

    /// Whether the secret can only be read by a prompt.
    var prompts: Bool { multiline || file == nil && fd == nil && generate == nil && Terminal.isTerminal(STDIN_FILENO) }

    func secret() throws -> Secret {
        let bytes = try read()
        guard bytes.count > 0 || allowEmpty else {
            throw CommandError.usage("the secret is empty", hint: "if that is meant: --allow-empty")
        }
        return Secret(bytes)
    }

    /// Returns a secret that the user types twice; `nil` if it is empty.
    static func typed(at terminal: borrowing Terminal) throws -> Secret? {
        let typed = try terminal.readTwice("Secret: ") { $0 }
        return typed.count > 0 ? Secret(typed) : nil
    }

    /// Reads several lines that the user types or pastes, once, without the final newline.
    private static func lines() throws -> SecretBytes {
        guard let terminal = Terminal() else { throw CommandError(.usage, "no secret: there is no terminal to ask at") }
        let typed = try terminal.readSecret("Secret, which ends with Ctrl-D on a line of its own:\n", isMultiline: true)
        let (length, count) = typed.withBytes { bytes in
            let length = bytes.count > 0 && bytes[bytes.count - 1] == 0x0a ? bytes.count - 1 : bytes.count
            return (length, bytes.indices.count { bytes[$0] == 0x0a })
        }
        Output.note(count == 1 ? "read one line" : "read \(count) lines")
        return try typed.copy(of: 0..<length)
    }

    private func read() throws -> SecretBytes {
        let tooLong = CommandError(.usage, VaultError.storage(.valueTooLarge).text)
        let limit = Layout.valueLimit
        if let generate { return try Generator.characters(generate, symbols: Generator.defaultSymbols).bytes() }
        if let file { return try SecretReader.read(file: file, limit: limit, tooLong: tooLong) }
        if let fd { return try SecretReader.read(fd, limit: limit, tooLong: tooLong) }
        if multiline { return try SecretOptions.lines() }
        return try SecretOptions.prompted(exact: exact)
    }

    /// Reads standard input, or prompts; removes one trailing newline from the former.
    static func prompted(exact: Bool = false) throws -> SecretBytes {
        let tooLong = CommandError(.usage, VaultError.storage(.valueTooLarge).text)
        let limit = Layout.valueLimit
        if Terminal.isTerminal(STDIN_FILENO) {
            guard let terminal = Terminal() else {
                throw CommandError(.usage, "no secret: there is no terminal to ask at")
            }
            return try terminal.readTwice("Secret: ") { $0 }
        }
        let input = try SecretReader.read(STDIN_FILENO, limit: limit + 1, tooLong: tooLong)
        let length = input.withBytes { bytes in
            !exact && bytes.count > 0 && bytes[bytes.count - 1] == 0x0a ? bytes.count - 1 : bytes.count
        }
        guard length <= limit else { throw tooLong }
        return try input.copy(of: 0..<length)
    }
}

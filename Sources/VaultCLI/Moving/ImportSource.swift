// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultImport
internal import VaultStorage
internal import VaultSystem

/// The passphrase of an imported or exported file, as opposed to the vault's.
struct FilePassphraseOptions: ParsableArguments {
    @Option(file: "Read the passphrase of FILE, not of the vault, from this file.")
    var filePassphraseFile: String?

    @Option(help: ArgumentHelp("Read the passphrase of FILE from this descriptor.", valueName: "number"))
    var filePassphraseFd: Int32?

    @Option(file: "The key file of a KDBX file.")
    var fileKeyFile: String?

    func validate() throws {
        guard filePassphraseFile == nil || filePassphraseFd == nil else {
            throw ValidationError("--file-passphrase-file and --file-passphrase-fd exclude each other")
        }
    }

    var isGiven: Bool { filePassphraseFile != nil || filePassphraseFd != nil }

    /// Returns the passphrase given by the options, without one trailing newline; `nil` if none is given.
    func given() throws -> Secret? {
        let tooLong = CommandError.usage("the passphrase of the file is longer than 4096 bytes")
        let bytes: SecretBytes
        if let file = filePassphraseFile {
            bytes = try SecretReader.read(file: file, limit: 4096, tooLong: tooLong, warnsOfReaders: true)
        } else if let descriptor = filePassphraseFd {
            bytes = try SecretReader.read(descriptor, limit: 4096, tooLong: tooLong)
        } else {
            return nil
        }
        let length = bytes.withBytes { $0.count > 0 && $0[$0.count - 1] == 0x0a ? $0.count - 1 : $0.count }
        return Secret(try bytes.copy(of: 0..<length))
    }

    /// Runs the body with the passphrase; the user has three attempts.
    func withPassphrase<R>(of file: String, _ body: (Secret) throws -> R) throws -> R {
        if let given = try given() { return try body(given) }
        var tries = 0
        while true {
            guard let terminal = Terminal() else {
                throw CommandError(
                    .locked, "no passphrase of '\(file.printable)': no option provides it, and there is no terminal",
                    hint: "--file-passphrase-file FILE")
            }
            tries += 1
            let typed = Secret(try terminal.readSecret("Passphrase of \(file.printable): "))
            do { return try body(typed) } catch ImportError.wrongPassphrase where tries < 3 {
                terminal.write("That is not the passphrase.\n")
            }
        }
    }
}

private struct PassphraseWanted: Error {}

struct ImportSource {
    let format: ImportFormat
    /// The named file; `nil` for the default location of the format.
    let file: String?
    let service: String?
    let passphrase: FilePassphraseOptions

    var asksNobody: Bool { format.asks == .none || format.asks == .passphrase && passphrase.isGiven }

    var name: String { file.map { $0 == "-" ? "standard input" : $0 } ?? place ?? format.name }

    private var place: String? {
        ProcessEnvironment.variable("HOME").flatMap { format.place?($0, ProcessEnvironment.variable) }
    }

    /// The file, for a format whose entries have no identifiers of their own.
    var origin: String? {
        guard format.isOfFile, let path = file ?? place, path != "-" else { return nil }
        return (try? LinuxFileSystem().resolve(FilePath(path)).string) ?? path
    }

    func logins(_ world: ImportWorld) throws -> ImportedLogins {
        guard let path = format.noFile == nil ? file ?? place : "" else {
            throw CommandError.usage("'\(format.name)' takes a file", hint: "vault import \(format.name) FILE")
        }
        do { return try format.read(self, path, world) } catch let error as ImportError {
            throw CommandError(error, of: name)
        }
    }

    func keyring(_ world: ImportWorld) throws -> ImportedLogins {
        let keyring = try SecretServiceSource()
        guard (try? LinuxFileSystem().resolve(FilePath("/proc/\(keyring.owner)/exe")).string) != Helper.ownExecutable
        else {
            throw CommandError.usage("the keyring of this session is the vault itself")
        }
        if Terminal() != nil { Output.note("a keyring that is locked asks for its passphrase in a window of its own") }
        return try keyring.logins(world.progress)
    }

    /// Reads a database of KeePass. One with a key file may have no passphrase.
    func database(_ path: String, _ world: ImportWorld) throws -> ImportedLogins {
        try checkReadable(path)
        func read(_ passphrase: Secret) throws -> ImportedLogins {
            try KeePass(path, passphrase: passphrase, keyFile: self.passphrase.fileKeyFile, world).logins()
        }
        let mayHaveNone = passphrase.fileKeyFile != nil && Terminal() == nil
        guard mayHaveNone, try passphrase.given() == nil else { return try passphrase.withPassphrase(of: path, read) }
        return try read(Secret(SecretBytes(zeroed: 0)))
    }

    /// Reads a document, and asks for its passphrase only if it needs one.
    func withPassphrase<R>(_ path: String, _ read: (Document, () throws -> Secret) throws -> R) throws -> R {
        let document = try document(path)
        do {
            return try read(document) { throw PassphraseWanted() }
        } catch ImportError.outside(let error) where error is PassphraseWanted {
            return try passphrase.withPassphrase(of: path) { typed in try read(document) { typed } }
        }
    }

    func document(_ path: String) throws -> Document {
        let tooLong = CommandError(.failure, "'\(name.printable)' has more than 256 MiB", hint: "nothing was imported")
        let limit = ImportWorld.fileLimit
        return try Document(
            Secret(
                path == "-"
                    ? SecretReader.read(STDIN_FILENO, limit: limit, tooLong: tooLong)
                    : SecretReader.read(file: path, limit: limit, tooLong: tooLong)))
    }

    func checkReadable(_ path: String) throws {
        try attempt("open '\(path.printable)'", try Names.checkAccess(path, R_OK))
    }

    func folder(of path: String) -> String {
        let directory = FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(path))
            .lexicallyNormalized().removingLastComponent()
        return directory.lastComponent?.string ?? "env"
    }
}

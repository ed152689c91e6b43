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

/// The formats of an import.
enum ImportFormat: String, FormatName {
    case secretService = "secret-service"
    case kdbx, bitwarden, cxf
    case onePassword = "1pux"
    case csv, pass, gopass, aegis, otpauth, env
    case plaintext
    case gitCredentials = "git-credentials"
    case netrc, docker, gh, cargo, aws, pgpass

    var plaintext: Plaintext? { Plaintext(rawValue: rawValue) }

    var meaning: String {
        switch self {
        case .secretService: "the items of gnome-keyring, KWallet or another keyring of the session"
        case .kdbx: "a database of KeePass 2 or KeePassXC (.kdbx), by keepassxc-cli"
        case .bitwarden: "Bitwarden's export as .json, plain or with a password"
        case .cxf: "FIDO's Credential Exchange Format (.json), as Apple's and other products exchange it"
        case .onePassword: "1Password's export as .1pux, by unzip"
        case .csv: "the .csv of a browser or password manager, known by its header"
        case .pass: "a store of pass, by gpg; without FILE, ~/.password-store"
        case .gopass: "a store of gopass, by gpg; without FILE, its own place"
        case .aegis: "Aegis' export as .json, plain or with a password"
        case .otpauth: "a list of otpauth:// URIs, one a line"
        case .env: "a .env file; --service names the items' service"
        case .plaintext: "the credentials that other programs keep in clear text: all of the following that exist"
        case .gitCredentials: "~/.git-credentials"
        case .netrc: "~/.netrc"
        case .docker: "~/.docker/config.json"
        case .gh: "~/.config/gh/hosts.yml"
        case .cargo: "~/.cargo/credentials.toml"
        case .aws: "~/.aws/credentials"
        case .pgpass: "~/.pgpass"
        }
    }

    /// Whether the imported file remains with all secrets in clear text.
    var isClear: Bool { [.csv, .onePassword, .otpauth, .bitwarden, .cxf, .aegis, .env].contains(self) }
}

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

    /// Whether an option gives the passphrase.
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
        guard Terminal() != nil else {
            throw CommandError(
                .locked, "no passphrase of '\(file.printable)': no option provides it, and there is no terminal",
                hint: "--file-passphrase-file FILE")
        }
        for tries in 1... {
            guard let terminal = Terminal() else { break }
            let typed = Secret(try terminal.readSecret("Passphrase of \(file.printable): "))
            do { return try body(typed) } catch ImportError.wrongPassphrase where tries < 3 {
                terminal.write("That is not the passphrase.\n")
            }
        }
        throw ImportError.wrongPassphrase
    }
}

/// Thrown if a document turns out to need a passphrase.
private struct PassphraseWanted: Error {}

/// Reads the logins of a format.
struct ImportSource {
    let format: ImportFormat
    /// The named file; `nil` for the default location of the format.
    let file: String?
    let service: String?
    let passphrase: FilePassphraseOptions

    /// Whether the format is read without a question to a person.
    var asksNobody: Bool {
        switch format {
        case .kdbx, .bitwarden, .aegis: passphrase.isGiven
        case .secretService, .pass, .gopass: false
        case .cxf, .onePassword, .csv, .otpauth, .env, .plaintext, .gitCredentials, .netrc, .docker, .gh, .cargo, .aws,
            .pgpass:
            true
        }
    }

    /// The name of the source, for display.
    var name: String { file.map { $0 == "-" ? "standard input" : $0 } ?? place ?? format.rawValue }

    /// The default location of a format.
    private var place: String? {
        func variable(_ name: String) -> String? { ProcessEnvironment.variable(name) }
        guard let home = variable("HOME") else { return nil }
        switch format {
        case .pass: return variable("PASSWORD_STORE_DIR") ?? home + "/.password-store"
        case .gopass: return (variable("XDG_DATA_HOME") ?? home + "/.local/share") + "/gopass/stores/root"
        default: return format.plaintext?.path(home: home, variable: variable)
        }
    }

    /// The file, for a format whose entries have no identifiers of their own.
    var origin: String? {
        switch format {
        case .csv, .otpauth, .env, .pass, .gopass: break
        default: return nil
        }
        guard let path = file ?? place, path != "-" else { return nil }
        return (try? LinuxFileSystem().resolve(FilePath(path)).string) ?? path
    }

    /// - Returns: the logins, and the prefix of their sources.
    func logins(_ world: ImportWorld) throws -> (logins: ImportedLogins, source: String) {
        do { return try read(world) } catch let error as ImportError { throw CommandError(error, of: name) }
    }

    private func read(_ world: ImportWorld) throws -> (logins: ImportedLogins, source: String) {
        let source = format.rawValue
        guard let path = format == .secretService ? "" : file ?? place else {
            throw CommandError.usage("'\(source)' takes a file", hint: "vault import \(source) FILE")
        }
        switch format {
        case .kdbx:
            try checkReadable(path)
            let logins = try withDatabasePassphrase(path) { passphrase in
                try KeePass(path, passphrase: passphrase, keyFile: self.passphrase.fileKeyFile, world).logins()
            }
            return (logins, source)
        case .secretService: return (try keyring(world), source)
        case .onePassword:
            try checkReadable(path)
            return (try OnePassword(path, world).logins(), source)
        case .pass, .gopass:
            return (try PassStore(path, world).logins(), source)
        case .bitwarden:
            let document = try Document(text(path))
            let logins = try withPassphrase(path) {
                try Bitwarden.logins(document, sshKey: { SSHKeyItem(file: $0, isConfirmed: $1) }, passphrase: $0)
            }
            return (logins, source)
        case .cxf:
            let logins = try CXF.logins(Document(text(path))) { key, comment, isConfirmed in
                SSHKeyItem.converted(key, comment: comment, isConfirmed: isConfirmed)
            }
            return (logins, source)
        case .aegis:
            let document = try Document(text(path))
            return (try withPassphrase(path) { try Aegis.logins(document, passphrase: $0) }, source)
        case .csv:
            let (logins, product) = try CSVLogins.logins(Document(text(path)))
            return (logins, product)
        case .otpauth: return (try OTPAuth.logins(Document(text(path))), source)
        case .env:
            return (try EnvironmentVariables.logins(Document(text(path)), service: service ?? folder(of: path)), source)
        case .plaintext: throw CommandError.usage("'plaintext' takes no file", hint: "name the program's format")
        case .gitCredentials, .netrc, .docker, .gh, .cargo, .aws, .pgpass:
            guard let plaintext = format.plaintext else { break }
            return (try plaintext.logins(Document(text(path))).imported, source)
        }
        return (ImportedLogins(), source)
    }

    /// Reads the keyring of the session.
    private func keyring(_ world: ImportWorld) throws -> ImportedLogins {
        let keyring = try SecretServiceSource()
        guard (try? LinuxFileSystem().resolve(FilePath("/proc/\(keyring.owner)/exe")).string) != Helper.ownExecutable
        else {
            throw CommandError.usage("the keyring of this session is the vault itself")
        }
        if Terminal() != nil { Output.note("a keyring that is locked asks for its passphrase in a window of its own") }
        return try keyring.logins(world.progress)
    }

    /// A database with a key file may have no passphrase.
    private func withDatabasePassphrase<R>(_ path: String, _ body: (Secret) throws -> R) throws -> R {
        let hasNone = passphrase.fileKeyFile != nil && Terminal() == nil
        guard hasNone, try passphrase.given() == nil else {
            return try passphrase.withPassphrase(of: path, body)
        }
        return try body(Secret(SecretBytes(zeroed: 0)))
    }

    /// Reads a document, and asks for its passphrase only if it needs one.
    private func withPassphrase<R>(_ path: String, _ read: (() throws -> Secret) throws -> R) throws -> R {
        do {
            return try read { throw PassphraseWanted() }
        } catch ImportError.outside(let error) where error is PassphraseWanted {
            return try passphrase.withPassphrase(of: path) { typed in try read { typed } }
        }
    }

    /// Reads a file, or standard input for `-`.
    private func text(_ path: String) throws -> Secret {
        let tooLong = CommandError(.failure, "'\(name.printable)' has more than 256 MiB", hint: "nothing was imported")
        let limit = ImportWorld.fileLimit
        guard path != "-" else { return Secret(try SecretReader.read(STDIN_FILENO, limit: limit, tooLong: tooLong)) }
        return Secret(try SecretReader.read(file: path, limit: limit, tooLong: tooLong))
    }

    private func checkReadable(_ path: String) throws {
        try attempt("open '\(path.printable)'", try Names.checkAccess(path, R_OK))
    }

    /// Returns the name of the directory that contains a file.
    private func folder(of path: String) -> String {
        let directory = FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(path))
            .lexicallyNormalized().removingLastComponent()
        return directory.lastComponent?.string ?? "env"
    }
}

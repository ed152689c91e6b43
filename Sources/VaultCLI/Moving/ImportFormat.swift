// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultImport

/// A format of an import.
struct ImportFormat: FormatName {
    /// Reads a file, or what the format reads without one.
    typealias Reading = @Sendable (_ source: ImportSource, _ path: String, ImportWorld) throws -> ImportedLogins

    enum Question { case none, passphrase, any }

    let name: String
    let meaning: String
    /// The questions to a person that reading may ask.
    var asks = Question.none
    /// Whether the imported file remains with all secrets in clear text.
    var isClear = false
    /// Whether the entries have no identifiers of their own, so that those of another file are others.
    var isOfFile = false
    var hasHistory = false
    var takesService = false
    /// The reason why the format takes no file.
    var noFile: String?
    /// The files of programs that the format imports, and removes the secrets from.
    var clearFiles: [Plaintext] = []
    var read: Reading = { _, _, _ in ImportedLogins() }
    /// Returns the usual place by the home directory and the variables of the environment.
    var place: (@Sendable (_ home: String, _ variable: (String) -> String?) -> String)?

    static let all =
        products + Plaintext.all.map { ImportFormat(name: $0.name, meaning: "~/" + $0.usualPath, clearFiles: [$0]) }

    private static let store: Reading = { _, path, world in try PassStore(path, world).logins() }

    private static let products: [ImportFormat] = [
        ImportFormat(
            name: "secret-service", meaning: "the items of gnome-keyring, KWallet or another keyring of the session",
            asks: .any, noFile: "it asks the keyring of the session"
        ) { source, _, world in try source.keyring(world) },
        ImportFormat(
            name: "kdbx", meaning: "a database of KeePass 2 or KeePassXC (.kdbx), by keepassxc-cli",
            asks: .passphrase, hasHistory: true
        ) { source, path, world in try source.database(path, world) },
        ImportFormat(
            name: "bitwarden", meaning: "Bitwarden's export as .json, plain or with a password", asks: .passphrase,
            isClear: true, hasHistory: true
        ) { source, path, _ in
            try source.withPassphrase(path) { document, passphrase in
                try Bitwarden.logins(
                    document, sshKey: { SSHKeyItem(file: $0, isConfirmed: $1) }, passphrase: passphrase)
            }
        },
        ImportFormat(
            name: "cxf",
            meaning: "FIDO's Credential Exchange Format (.json), as Apple's and other products exchange it",
            isClear: true
        ) { source, path, _ in
            try CXF.logins(source.document(path)) { key, comment, isConfirmed in
                SSHKeyItem.converted(key, comment: comment, isConfirmed: isConfirmed)
            }
        },
        ImportFormat(
            name: "1pux", meaning: "1Password's export as .1pux, by unzip", isClear: true, hasHistory: true
        ) { source, path, world in
            try source.checkReadable(path)
            return try OnePassword(path, world).logins()
        },
        ImportFormat(
            name: "csv", meaning: "the .csv of a browser or password manager, known by its header", isClear: true,
            isOfFile: true
        ) { source, path, _ in try CSVLogins.logins(source.document(path)) },
        ImportFormat(
            name: "pass", meaning: "a store of pass, by gpg; without FILE, ~/.password-store", asks: .any,
            isOfFile: true, read: store
        ) { $1("PASSWORD_STORE_DIR") ?? $0 + "/.password-store" },
        ImportFormat(
            name: "gopass", meaning: "a store of gopass, by gpg; without FILE, its own place", asks: .any,
            isOfFile: true, read: store
        ) { ($1("XDG_DATA_HOME") ?? $0 + "/.local/share") + "/gopass/stores/root" },
        ImportFormat(
            name: "aegis", meaning: "Aegis' export as .json, plain or with a password", asks: .passphrase,
            isClear: true
        ) { source, path, _ in try source.withPassphrase(path) { try Aegis.logins($0, passphrase: $1) } },
        ImportFormat(
            name: "otpauth", meaning: "a list of otpauth:// URIs, one a line", isClear: true, isOfFile: true
        ) { source, path, _ in try OTPAuth.logins(source.document(path)) },
        ImportFormat(
            name: "env", meaning: "a .env file; --service names the items' service", isClear: true, isOfFile: true,
            takesService: true
        ) { source, path, _ in
            try EnvironmentVariables.logins(source.document(path), service: source.service ?? source.folder(of: path))
        },
        ImportFormat(
            name: "plaintext",
            meaning: "the credentials that other programs keep in clear text: all of the following that exist",
            noFile: "name the program's format, such as 'netrc'", clearFiles: Plaintext.all),
    ]
}

extension ImportFormat {
    /// Returns whether a word is an existing file or directory, and not a format.
    static func isFile(_ name: String) -> Bool {
        named(name) == nil && name != "-" && FileManager.default.fileExists(atPath: name)
    }

    /// Returns the format of a file that is given without one, by its name, else by its content.
    static func guessed(from path: String) throws -> ImportFormat? { try guessedName(path).flatMap(named) }

    private static func guessedName(_ path: String) throws -> String? {
        let file = FilePath(path)
        let name = file.lastComponent?.string ?? ""
        let directory = file.removingLastComponent().lastComponent?.string
        if let format = Plaintext.usual(name, in: directory ?? "") { return format.name }
        if name == ".env" || name.hasPrefix(".env.") || name.hasSuffix(".env") { return "env" }
        guard (try? FileManager.default.contentsOfDirectory(atPath: path)) == nil else {
            return FileManager.default.fileExists(atPath: path + "/.gpg-id") ? "pass" : nil
        }
        let tooLong = CommandError(.failure, "'\(path.printable)' has more than 256 MiB", hint: "nothing was imported")
        let content = try SecretReader.read(file: path, limit: ImportWorld.fileLimit, tooLong: tooLong)
        return FormatGuess.format(of: Secret(content))
    }
}

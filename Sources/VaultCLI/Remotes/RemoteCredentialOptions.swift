// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultStorage
internal import VaultSync

/// The credentials that a device presents to a server, and the authorities by which it verifies the server.
struct RemoteCredentialOptions: ParsableArguments {
    @Option(file: "A file with the password of the URL's user; the vault keeps it on this device only.")
    var passwordFile: String?

    @Option(file: "Verify the server's certificate by these authorities (PEM).")
    var caFile: String?

    @Option(file: "This device's certificate (PEM).")
    var certificateFile: String?

    @Option(file: "The certificate's private key (PEM).")
    var certificateKeyFile: String?

    private static let longestPassword = 1024
    private static let longestFile = 65_536

    func validate() throws {
        guard (certificateFile == nil) == (certificateKeyFile == nil) else {
            throw ValidationError("--certificate-file and --certificate-key-file go together")
        }
    }

    /// - Throws: code 64 if the remote does not support one of them, or a file does not exist.
    func credentials(for remote: RemoteURL) throws -> RemoteCredentials {
        let isOfServer = remote.scheme == .postgres || remote.scheme == .etcd
        let given = [
            ("--password-file", passwordFile), ("--ca-file", caFile), ("--certificate-file", certificateFile),
        ]
        if let (option, _) = given.first(where: { $0.1 != nil }), !isOfServer {
            throw CommandError.usage("\(option) is for postgres:// and etcd://")
        }
        var credentials = RemoteCredentials()
        if let passwordFile {
            guard remote.user != nil else {
                throw CommandError.usage("a password is a user's: \(remote.scheme.rawValue)://USER@host")
            }
            credentials.password = try Self.password(passwordFile)
        }
        credentials.authorities = try caFile.map(Self.file)
        credentials.certificate = try certificateFile.map(Self.file)
        credentials.key = try certificateKeyFile.map(Self.file)
        return credentials
    }

    /// Returns the first line of a file, as bytes. Zero bytes are refused: libpq and libcurl would end there.
    private static func password(_ file: String) throws -> Secret {
        let tooLong = CommandError(.usage, "the password is longer than \(longestPassword) bytes")
        let content = try SecretReader.read(
            file: file, limit: longestFile, tooLong: tooLong, warnsOfReaders: true)
        let (end, hasZero) = content.withBytes { bytes in
            let end = bytes.indices.first { bytes[$0] == 0x0a || bytes[$0] == 0x0d } ?? bytes.count
            return (end, (0..<end).contains { bytes[$0] == 0 })
        }
        guard !hasZero else { throw CommandError.usage("the password has a zero byte") }
        guard end > 0 else { throw CommandError.usage("the file of the password is empty") }
        guard end <= longestPassword else { throw tooLong }
        return Secret(try content.copy(of: 0..<end))
    }

    /// Returns the absolute path of a readable file: every sync reads the file anew, from any working directory.
    private static func file(_ name: String) throws -> FilePath {
        let path = FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(name)).lexicallyNormalized()
        var isDirectory = false
        guard !name.isEmpty, FileManager.default.fileExists(atPath: path.string, isDirectory: &isDirectory),
            !isDirectory, FileManager.default.isReadableFile(atPath: path.string)
        else { throw CommandError.usage("there is no readable file '\(name.printable)'") }
        return path
    }
}

extension RemoteURL {
    /// Parses a URL of the command line.
    ///
    /// - Throws: code 64; the password of a refused URL is not repeated, but is where arguments are kept.
    init(argument: String) throws {
        do throws(SyncError) { self = try RemoteURL(argument) } catch {
            var failure = CommandError(error)
            if Self.holdsPassword(argument) {
                failure.hint =
                    "nothing was stored, but the shell's history and the list of processes had the password: change it"
            }
            throw failure
        }
    }

    /// Whether there is a colon, also an encoded one, in front of a host, or a password among the options of libpq.
    private static func holdsPassword(_ text: String) -> Bool {
        let rest = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
        if let at = rest.lastIndex(of: "@") {
            let user = rest[..<at].lowercased()
            if user.contains(":") || user.contains("%3a") { return true }
        }
        return rest.lowercased().contains("password=")
    }
}

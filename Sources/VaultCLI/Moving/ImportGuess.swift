// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultImport

/// Guesses the format of a file that is given without one.
enum ImportGuess {
    /// Returns whether a word is an existing file or directory, and not a format.
    static func isFile(_ name: String) -> Bool {
        ImportFormat(rawValue: name) == nil && name != "-" && FileManager.default.fileExists(atPath: name)
    }

    /// Returns the format; `nil` if it cannot be determined.
    static func format(of path: String) throws -> ImportFormat? {
        if let format = format(named: FilePath(path)) { return format }
        guard !isDirectory(path) else {
            return FileManager.default.fileExists(atPath: path + "/.gpg-id") ? .pass : nil
        }
        let tooLong = CommandError(.failure, "'\(path.printable)' has more than 256 MiB", hint: "nothing was imported")
        let content = try SecretReader.read(file: path, limit: ImportWorld.fileLimit, tooLong: tooLong)
        return FormatGuess.format(of: Secret(content)).flatMap { ImportFormat(rawValue: $0) }
    }

    private static func isDirectory(_ path: String) -> Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) != nil
    }

    /// Recognizes files by conventional names.
    private static func format(named path: FilePath) -> ImportFormat? {
        let name = path.lastComponent?.string ?? ""
        switch name {
        case ".git-credentials": return .gitCredentials
        case ".netrc", "_netrc": return .netrc
        case ".pgpass": return .pgpass
        case "hosts.yml" where path.removingLastComponent().lastComponent == "gh": return .gh
        case "credentials.toml" where path.removingLastComponent().lastComponent == ".cargo": return .cargo
        case "credentials" where path.removingLastComponent().lastComponent == ".aws": return .aws
        default: return name == ".env" || name.hasPrefix(".env.") || name.hasSuffix(".env") ? .env : nil
        }
    }
}

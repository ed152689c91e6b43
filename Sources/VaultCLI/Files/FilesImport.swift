// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Stores the files below a directory.
struct FilesImport {
    let directory: String
    let service: String
    let groups: AccessGroups
    let replaces: Bool

    func run(_ vault: VaultOptions) throws {
        let access = try vault.access(groups)
        let names = try FileTree.names(below: directory)
        guard !names.isEmpty else { throw CommandError(.notFound, "there are no files in the directory") }
        let tooLong = CommandError(.usage, "a file has more than 16 MiB")
        let items = try Progress.during("reading") { report in
            try names.enumerated().map { index, name in
                report(Double(index) / Double(names.count))
                let bytes = try SecretReader.read(
                    file: directory + "/" + name, limit: Layout.valueLimit, tooLong: tooLong)
                return Item(.genericPassword(service: service, account: name), secret: Secret(bytes))
            }
        }
        try access.withVault { vault in
            try Progress.during("storing") { _ in try vault.store(items, replacing: replaces) }
        }
        Output.note("stored \(items.count) files")
    }
}

/// The regular files below a directory.
enum FileTree {
    /// The service of their items, unless the user names another.
    static let service = "files"

    /// Returns their relative paths, sorted. A symbolic link to a file counts as a file; links to directories are not
    /// followed.
    ///
    /// - Parameter unreadable: receives the path of each file and directory that cannot be read, instead of an error;
    ///   its name may not be UTF-8, which U+FFFD stands for.
    static func names(below root: String, unreadable: ((String) -> Void)? = nil) throws -> [String] {
        var names: [String] = []
        try collect(root, "", &names, unreadable)
        return names.sorted()
    }

    private static func collect(
        _ root: String, _ prefix: String, _ names: inout [String], _ unreadable: ((String) -> Void)?
    ) throws {
        let directory = prefix.isEmpty ? root : root + "/" + prefix
        let entries: [String]
        do { entries = try FileManager.default.contentsOfDirectory(atPath: directory) } catch {
            if let unreadable, !prefix.isEmpty { return unreadable(prefix) }
            throw CommandError(.inputOutput, "cannot list the directory '\(directory.printable)'")
        }
        for entry in entries {
            let name = prefix.isEmpty ? entry : prefix + "/" + entry
            guard let own = try? FileStatus(at: root + "/" + name) else {
                if let unreadable {
                    unreadable(name)
                    continue
                }
                throw CommandError(
                    .inputOutput, "cannot look at '\(name.printable)'", hint: "its name may not be UTF-8")
            }
            if own.kind == .directory {
                try collect(root, name, &names, unreadable)
            } else if (try? FileStatus(at: root + "/" + name, followsLink: true))?.kind == .regular {
                names.append(name)
            } else {
                Output.warn("skipped '\(name.printable)', which is not a regular file")
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat

struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Store files as items.",
        discussion: """
            Every regular file below the directory becomes a generic password: its path there is the account, its bytes
            are the secret. All of them are stored in one transaction, or none. 'vault export' writes them back.
            """)

    @OptionGroup var vault: VaultOptions

    @Option(help: ArgumentHelp("The directory.", valueName: "directory"), completion: .directory)
    var files: String

    @OptionGroup var options: FilesOptions

    @Flag(help: "Replace items that exist.")
    var replace = false

    func run() throws {
        let access = try vault.access(.named(options.group))
        let names = try FileTree.names(below: files)
        guard !names.isEmpty else { throw CommandError(.notFound, "there are no files in the directory") }
        let tooLong = CommandError(.usage, "a file has more than 16 MiB")
        let items = try Progress.during("reading") { report in
            try names.enumerated().map { index, name in
                report(Double(index) / Double(names.count))
                let bytes = try SecretReader.read(file: files + "/" + name, limit: Layout.valueLimit, tooLong: tooLong)
                return Item(.genericPassword(service: options.service, account: name), secret: Secret(bytes))
            }
        }
        try access.withVault { vault in
            try Progress.during("storing") { _ in try vault.store(items, replacing: replace) }
        }
        Output.note("stored \(items.count) files")
    }
}

/// Which items are files.
struct FilesOptions: ParsableArguments {
    @Option(help: "The service of the items.")
    var service = "files"

    @Option(help: "The access group.")
    var group: String?
}

/// The regular files below a directory.
enum FileTree {
    /// Their paths below it, sorted. A symbolic link to a file counts as one; links to directories are not followed.
    static func names(below root: String) throws -> [String] {
        var names: [String] = []
        try collect(root, "", &names)
        return names.sorted()
    }

    private static func collect(_ root: String, _ prefix: String, _ names: inout [String]) throws {
        let directory = prefix.isEmpty ? root : root + "/" + prefix
        let entries: [String]
        do { entries = try FileManager.default.contentsOfDirectory(atPath: directory) } catch {
            throw CommandError(.inputOutput, "cannot list the directory '\(directory.printable)'")
        }
        for entry in entries {
            let name = prefix.isEmpty ? entry : prefix + "/" + entry
            var (own, target) = (stat(), stat())
            guard unsafe lstat(root + "/" + name, &own) == 0 else {
                throw CommandError(
                    .inputOutput, "cannot look at '\(name.printable)'", hint: "its name may not be UTF-8")
            }
            if own.st_mode & S_IFMT == S_IFDIR {
                try collect(root, name, &names)
            } else if unsafe stat(root + "/" + name, &target) == 0, target.st_mode & S_IFMT == S_IFREG {
                names.append(name)
            } else {
                Output.warn("skipped '\(name.printable)', which is no regular file")
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Writes items to files, under the paths from which they were imported.
struct FilesExport {
    let directory: String
    let service: String
    let groups: AccessGroups

    func run(_ vault: VaultOptions) throws {
        let access = try vault.access(groups, onlyReads: true)
        let target = ExportDirectory(directory, option: "--files")
        try target.check()
        try access.withVault { vault in
            let items = try vault.copyMatching(Query(.genericPassword, service: service))
            var count = 0
            try Progress.during("exporting") { report in
                try target.fill { write in
                    for (index, item) in items.enumerated() {
                        let name = item[.account]?.text ?? ""
                        if try item.withSecret({ try write(name, $0) }) != nil { count += 1 }
                        report(Double(index) / Double(items.count))
                    }
                }
            }
            Output.note("wrote \(count) files")
        }
    }
}

/// A directory that is filled beside its destination and moved there when complete.
struct ExportDirectory {
    private let path: String
    private let temporary: String

    private let option: String

    /// - Parameter option: the option that names the directory, for messages.
    init(_ path: String, option: String) {
        self.option = option
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        temporary = path + ".tmp-" + hexadecimal(SystemRandom().bytes(8))
    }

    func check() throws {
        guard !path.isEmpty else { throw CommandError.usage("\(option) takes a directory") }
        guard let status = try? FileStatus(at: path) else { return }
        let entries = try? FileManager.default.contentsOfDirectory(atPath: path)
        guard status.kind == .directory, entries?.isEmpty == true else {
            throw CommandError(.alreadyExists, "the directory exists and is not empty", hint: "name a new one")
        }
    }

    func fill(_ body: (_ write: (String, Span<UInt8>) throws -> Void) throws -> Void) throws {
        // An interruption must not leave decrypted secrets behind.
        let interruptions = try Interruptions()
        let unfinished = try DirectoryGuard(temporary)
        try make(temporary)
        do {
            try body { name, bytes in
                try interruptions.check()
                try write(name, bytes)
            }
            try interruptions.check()
            try attempt("move the directory into place", try Names.rename(temporary, to: path))
            unfinished.letGo()
        } catch {
            try? FileManager.default.removeItem(atPath: temporary)
            try interruptions.check()
            throw error
        }
    }

    private func write(_ name: String, _ bytes: Span<UInt8>) throws {
        let components = name.pathComponents(omittingEmpty: false)
        // An account is the user's text, and must be checked before it is used as a path.
        let isPath =
            !name.utf8.contains(0)
            && components.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." && $0.utf8.count <= 255 }
        guard isPath else { throw CommandError(.failure, "an item's account cannot be a file name") }
        var directory = temporary
        for component in components.dropLast() {
            directory += "/" + component
            try make(directory, mayExist: true)
        }
        try Scratch.write(bytes, to: temporary + "/" + name)
    }

    private func make(_ directory: String, mayExist: Bool = false) throws {
        do throws(Errno) { try Names.makeDirectory(directory) } catch {
            guard mayExist, error == .fileExists else { throw CommandError.cannot("make a directory", error) }
        }
    }
}

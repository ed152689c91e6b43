// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultSSHAgent

struct SSHAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh-add",
        abstract: "Store ssh keys in the vault.",
        discussion: """
            Runs the system's ssh-add, which reads the key files, asks for their passphrases and finds certificates \
            beside them; without a file, ssh-add takes its default files in ~/.ssh. 'vault doors --ssh' then uses the \
            keys, and no longer needs the files: the vault encrypts the stored keys, and the passphrases of the files \
            do not apply to them. -l and -L list the keys in the vault like ssh-add, and -d deletes keys, each named \
            by a file with its public key or by its fingerprint.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(
        help: ArgumentHelp("Files of private keys; with -d, of public keys, or fingerprints.", valueName: "file"),
        completion: .file())
    var files: [String] = []

    @Flag(name: .customShort("l"), help: "List the fingerprints of the keys in the vault.")
    var list = false

    @Flag(name: .customShort("L"), help: "List the public keys in the vault.")
    var listKeys = false

    @Flag(name: .customShort("d"), help: "Delete keys from the vault.")
    var delete = false

    @Flag(help: "Ask the user before each use of the keys.")
    var confirm = false

    func run() throws {
        let chosen = [list, listKeys, delete, confirm].count { $0 }
        guard chosen <= 1 else { throw CommandError.usage("-l, -L, -d and --confirm exclude each other") }
        if list || listKeys { return try printKeys() }
        guard !delete || !files.isEmpty else {
            throw CommandError.usage("there is no key named", hint: "'vault ssh-add -l' lists them")
        }
        for file in files where file.isEmpty || file.hasPrefix("-") {
            throw CommandError.usage("a file's name is no option", hint: "./\(file.printable)")
        }
        let prints = delete ? files.filter { $0.hasPrefix("SHA256:") } : []
        let rest = files.filter { !prints.contains($0) }
        let access = try vault.trustedAccess(nil)
        try access.withVault { vault in
            try SSHAdd.delete(prints, from: vault)
            guard !rest.isEmpty || files.isEmpty else { return }
            try SSHAdd.runProgram((delete ? ["-d"] : confirm ? ["-c"] : []) + rest, on: vault)
        }
    }

    private func printKeys() throws {
        guard files.isEmpty else { throw CommandError.usage("-l and -L take no file") }
        let access = try vault.trustedAccess(nil, onlyReads: true)
        let keys = try access.withVault { try SSHItems($0).listed() }
        let lines = keys.flatMap { key in
            list
                ? ["\(key.bits) \(key.fingerprint) \(key.comment.printable) (\(key.kind))"]
                : key.lines.map { "\($0) \(key.comment.printable)" }
        }
        try Output.write(lines.map { $0 + "\n" }.joined())
        if keys.isEmpty { Output.note("the vault has no ssh keys") }
    }

    private static func delete(_ fingerprints: [String], from vault: any OpenVault) throws {
        guard !fingerprints.isEmpty else { return }
        let keys = try SSHItems(vault).listed()
        // Deletes none unless all exist.
        let found = try fingerprints.map { fingerprint in
            guard let key = keys.first(where: { $0.fingerprint == fingerprint }) else { throw VaultError.itemNotFound }
            return key
        }
        for key in found { try vault.delete(key.item) }
    }

    /// Runs ssh-add(1) with a temporary agent, which stores its keys in the vault.
    private static func runProgram(_ arguments: [String], on vault: any OpenVault) throws {
        guard Helper(["ssh-add"]).exists else {
            throw CommandError(.failure, "there is no ssh-add", hint: "install openssh-client")
        }
        let directory = try makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let socket = directory.appending("agent.sock")
        let close = try DoorSocket.serve(socket) { SSHDoor($0, vault, note: Output.note) }
        defer { close() }
        let status = try Helper(["env", "SSH_AUTH_SOCK=\(socket.string)", "ssh-add"] + arguments).run()
        guard status == 0 else { throw CommandError(.failure, "ssh-add ended with \(status)") }
    }

    /// Makes a directory for the socket that only the user can access.
    private static func makeDirectory() throws -> FilePath {
        let name = "vault-ssh-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        // The path of a socket has at most 107 bytes.
        let places: [String?] = [
            RuntimeDirectory.ofProcess?.string, FileManager.default.temporaryDirectory.path, "/tmp",
        ]
        for place in places.compactMap({ $0 })
        where place.utf8.count < 60 {
            let path = FilePath(place).appending(name)
            do {
                try FileManager.default.createDirectory(
                    atPath: path.string, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
                return path
            } catch { continue }
        }
        throw CommandError(.inputOutput, "there is no place for a socket", hint: "set XDG_RUNTIME_DIR")
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import SystemPackage
internal import VaultFormat
internal import VaultSync

struct RemoteServe: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "On a server: serve a folder of records to devices over ssh.",
        discussion: """
            ssh runs the command for a remote ssh://host/dir. The command speaks to the device over standard input and \
            output until the device disconnects; it opens no vault, and needs none. In authorized_keys a line like
              command="vault remote serve --realm REALM -- DIR",restrict ssh-ed25519 AAAA…
            restricts a key to this command and this folder, regardless of the device's requests. The realm of a fleet \
            is in the output of 'vault status --json' on its devices; mailboxes, by which devices join, are always \
            served.
            """)

    @Option(
        help: ArgumentHelp("Serve this fleet only; may be repeated for several.", valueName: "realm"))
    var realm: [String] = []

    @Flag(help: "Remove no records, not even on the request of a device.")
    var appendOnly = false

    @Argument(help: ArgumentHelp("The absolute path of an existing folder.", valueName: "dir"))
    var folder: String

    func validate() throws {
        guard folder.hasPrefix("/") else { throw ValidationError("the folder must be an absolute path") }
        guard realm.allSatisfy({ Bytes16(text: $0) != nil }) else {
            throw ValidationError("a realm has 32 hexadecimal digits, in lower case")
        }
    }

    func run() throws {
        guard isatty(STDIN_FILENO) == 0, isatty(STDOUT_FILENO) == 0 else {
            throw CommandError.usage("devices run this command by ssh", hint: "'vault remote add ssh://…'")
        }
        let rules = RecordServer.Rules(
            realms: Set(realm.compactMap { Bytes16(text: $0) }), isAppendOnly: appendOnly)
        let server = try RecordServer(
            FilePath(folder).lexicallyNormalized(), rules, input: STDIN_FILENO, output: STDOUT_FILENO)
        guard let failure = server.run() else { return }
        throw CommandError(.inputOutput, failure.printable)
    }
}

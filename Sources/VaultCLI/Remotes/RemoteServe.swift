// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import SystemPackage
internal import VaultFormat
internal import VaultSync

struct RemoteServe: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "On a server: give devices that come by ssh a folder of records.",
        discussion: """
            ssh runs it for a remote ssh://host/dir. It speaks to the device over standard input and output until that \
            goes, opens no vault, and needs none. In authorized_keys a line like
              command="vault remote serve --realm REALM -- DIR",restrict ssh-ed25519 AAAA…
            lets a key do that and nothing else, in that folder alone, whatever its device asks for. The realm of a \
            fleet is in 'vault status --json' of its devices; mailboxes, by which devices join, are always served.
            """)

    @Option(
        help: ArgumentHelp("Serve this fleet alone; several are given by several options.", valueName: "realm"))
    var realm: [String] = []

    @Flag(help: "Remove no records: what devices trim stays.")
    var appendOnly = false

    @Argument(help: ArgumentHelp("A folder that is there, from the root.", valueName: "dir"))
    var folder: String

    func validate() throws {
        guard folder.hasPrefix("/") else { throw ValidationError("the folder begins at the root: /absolute/path") }
        guard realm.allSatisfy({ Bytes16(text: $0) != nil }) else {
            throw ValidationError("a realm has 32 hexadecimal digits, in lower case")
        }
    }

    func run() throws {
        guard isatty(STDIN_FILENO) == 0, isatty(STDOUT_FILENO) == 0 else {
            throw CommandError.usage("it speaks to devices, which run it by ssh", hint: "'vault remote add ssh://…'")
        }
        let rules = RecordServer.Rules(
            realms: Set(realm.compactMap { Bytes16(text: $0) }), isAppendOnly: appendOnly)
        let server: RecordServer
        do throws(RecordStoreError) {
            server = try RecordServer(
                FilePath(folder).lexicallyNormalized(), rules, input: STDIN_FILENO, output: STDOUT_FILENO)
        } catch { throw SyncError.store(error) }
        guard let failure = server.run() else { return }
        throw CommandError(.inputOutput, failure.printable)
    }
}

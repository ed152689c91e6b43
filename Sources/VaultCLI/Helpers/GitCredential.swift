// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultGit

struct GitCredential: HelperCommand, PlainCommand {
    static let link = "git-credential-vault"
    static let configuration = CommandConfiguration(
        commandName: "git-credential",
        abstract: "Store git's credentials in the vault.",
        discussion: """
            A credential helper (gitcredentials(7)): 'git config --global credential.helper vault' if this command is \
            also installed as git-credential-vault, else credential.helper '!vault git-credential'. A credential is an \
            internet password with its host, port and protocol, and with its path if git passes one. Tokens that \
            expire, their refresh tokens, and credentials of other schemes than a password are stored as git passes \
            them.

            git gets what it has stored, what 'vault import' took from ~/.git-credentials, ~/.netrc and gh, internet \
            passwords that a person made, and items with the attribute use=git ('vault update HOST USER --attr \
            use=git'). Logins that a browser saved, or that came from another product, are left out, since many \
            servers refuse the passwords of their web sites: credential.helper 'vault --imported' includes them. A \
            login whose path is the beginning of the repository's comes first, with credential.useHttpPath. What a \
            server has refused, and git did not store, is not offered again until it changes.

            To unlock a locked vault, the command asks at the terminal, or by pinentry. If the user cannot be asked, \
            the command answers nothing, and git continues with its next helper.
            """)

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Let git have the logins that a browser saved, or that came from another product, too.")
    var imported = false

    @Argument(help: "get, store or erase, passed by git; the rest comes from standard input.")
    var action: String

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let vault = VaultOptions(&plain) else { return nil }
        let imported = plain.flag("--imported")
        guard let action = plain.word() else { return nil }
        (self.vault, self.imported, self.action) = (vault, imported, action)
    }

    func run() throws {
        // git requires that unknown actions be ignored.
        guard ["get", "store", "erase"].contains(action) else { return }
        let tooLong = GitCredential.failure(.tooLong)
        let text = try SecretReader.read(STDIN_FILENO, limit: GitRecord.limit, tooLong: tooLong)
        let record: GitRecord
        do throws(GitRecord.Flaw) { record = try GitRecord(Secret(text)) } catch { throw GitCredential.failure(error) }
        do {
            let isQuestion = action == "get"
            let answer = try HelperAccess.withVault(vault, for: "git", onlyReads: true) { vault in
                let logins = GitLogins(
                    vault, now: Int64(Date().timeIntervalSince1970), servesImported: imported)
                switch action {
                case "store": try logins.keep(record)
                case "erase": try logins.erase(record)
                default: break
                }
                return isQuestion ? try logins.answer(to: record) : nil
            }
            if let answer { try HelperAccess.write(Secret(try answer.text())) }
        } catch let error as CommandError where error.status == .locked {
            // git then asks its next helper, and finally the user.
            Output.note("the vault is locked: 'vault unlock' lets git have its credentials")
        }
    }

    private static func failure(_ flaw: GitRecord.Flaw) -> CommandError {
        switch flaw {
        case .tooLong: CommandError(.failure, "git says more than 1 MiB")
        case .zeroByte: CommandError(.failure, "git's input has a zero byte")
        case .cutLine: CommandError(.failure, "git's input ends in the middle of a line")
        case .noEquals: CommandError(.failure, "git's input has a line that is not KEY=VALUE")
        case .notText: CommandError(.failure, "git's input is not UTF-8")
        case .noMemory: CommandError(.resources, "not enough memory")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultCrypto

struct Otp: PlainCommand {
    static let configuration = CommandConfiguration(
        commandName: "otp",
        abstract: "Print the current one-time password.",
        discussion: """
            The item's field 'otp', else its secret, is an otpauth://totp/… URI, or a key in base32, which implies \
            SHA-1, 6 digits and 30 seconds (RFC 6238). On a terminal, the command also shows how long the password is \
            valid.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Copy the password instead of printing it, and clear the clipboard when the password expires.")
    var copy = false

    func validate() throws {
        guard !copy || !json else { throw ValidationError("--copy and --json exclude each other") }
    }

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let vault = VaultOptions(&plain), let selection = ItemSelection(&plain) else { return nil }
        (self.vault, self.selection) = (vault, selection)
        (json, copy) = (plain.flag("--json"), false)
    }

    func run() throws {
        let secret = try vault.access(selection.groups, onlyReads: true).withVault { vault in
            let item = try selection.only(in: vault)
            guard let secret = try item.openedSecret(field: item.fieldNames.contains("otp") ? "otp" : nil) else {
                throw CommandError(.notFound, "the item has no secret", hint: NearMiss.hint(field: "otp", of: item))
            }
            return secret
        }
        let password = try secret.withBytes { try OneTimePassword($0) }
        let now = UInt64(max(0, Date().timeIntervalSince1970))
        let code: String
        do throws(CryptoError) { code = try password.code(at: now) } catch {
            guard error == .unavailable else { throw error }
            throw CommandError(.failure, "this machine provides no SHA-1", hint: "install libssl3")
        }
        let left = password.period - Int(now % UInt64(password.period))
        guard !copy else { return try Secret(SecretBytes(copying: Array(code.utf8).span)).copy(clearAfter: left) }
        guard !json else {
            return try Output.line("{\"code\":\"\(code)\",\"period\":\(password.period),\"validFor\":\(left)}")
        }
        try Output.line(code)
        if Terminal.isTerminal(STDERR_FILENO) { Output.note("good for \(left) s") }
    }
}

extension CommandError {
    init(_ error: OneTimePasswordError) {
        switch error {
        case .notTimeBased: self = .usage("the secret is not an otpauth:// URI of time-based passwords")
        case .unknownAlgorithm:
            self = .usage("the algorithm of the one-time password must be SHA1, SHA256 or SHA512")
        case .unusableNumber: self = .usage("the digits or the period of the one-time password are out of range")
        case .notBase32: self = .usage("the secret is neither an otpauth:// URI nor base32")
        case .cryptography(let error): self.init(error)
        }
    }
}

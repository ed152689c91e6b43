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
            The item's field 'otp' is an otpauth://totp/… URI, or a key in base32, which implies SHA-1, 6 digits and \
            30 seconds (RFC 6238); without the field, its secret may be such a URI. On a terminal, the command also \
            shows how long the password is valid.
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
        let code = try vault.access(selection.groups, onlyReads: true).withVault { vault in
            guard let seed = try ItemFace(selection.only(in: vault)).oneTimePasswordSeed() else {
                throw CommandError(
                    .notFound, "the item has no one-time password",
                    hint: "'vault set … --field otp' adds its seed: an otpauth:// URI, or a key in base32")
            }
            return try OneTimeCode(of: seed)
        }
        guard !copy else {
            return try Secret(SecretBytes(copying: Array(code.digits.utf8).span)).copy(clearAfter: code.secondsLeft)
        }
        guard !json else {
            return try Output.line(
                "{\"code\":\"\(code.digits)\",\"period\":\(code.period),\"validFor\":\(code.secondsLeft)}")
        }
        try Output.line(code.digits)
        if Terminal.isTerminal(STDERR_FILENO) { Output.note("good for \(code.secondsLeft) s") }
    }
}

/// A one-time password, as of a moment.
struct OneTimeCode {
    let digits: String
    /// In seconds.
    let period: Int
    let secondsLeft: Int

    /// - Throws: an ``OneTimePasswordError`` for a text that is no seed; code 1 without libcrypto.
    init(of seed: Secret, at date: Date = Date()) throws {
        let password = try seed.withBytes { try OneTimePassword($0) }
        let now = UInt64(max(0, date.timeIntervalSince1970))
        do throws(CryptoError) { digits = try password.code(at: now) } catch {
            guard error == .unavailable else { throw error }
            throw CommandError(.failure, "this machine provides no SHA-1", hint: "install libssl3")
        }
        period = password.period
        secondsLeft = period - Int(now % UInt64(period))
    }
}

extension CommandError {
    init(_ error: OneTimePasswordError) {
        switch error {
        case .notTimeBased: self = .usage("the seed is not an otpauth:// URI of time-based passwords")
        case .unknownAlgorithm:
            self = .usage("the algorithm of the one-time password must be SHA1, SHA256 or SHA512")
        case .unusableNumber: self = .usage("the digits or the period of the one-time password are out of range")
        case .notBase32: self = .usage("the seed is neither an otpauth:// URI nor base32")
        case .cryptography(let error): self.init(error)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import Vault
internal import VaultCrypto

/// A clipboard of the session.
enum Clipboard: String, CaseIterable, ExpressibleByArgument {
    case wayland, x11
    /// The terminal's clipboard, set by the escape sequence OSC 52, also over SSH. Cannot be read.
    case terminal

    /// The clipboards that this session may have, the likeliest first: a display named by a variable may be gone.
    static var candidates: [Clipboard] {
        var found: [Clipboard] = []
        if isSet("WAYLAND_DISPLAY"), Helper(["wl-copy"]).exists { found.append(.wayland) }
        if isSet("DISPLAY"), Helper(["xclip"]).exists { found.append(.x11) }
        return found + (Terminal() == nil ? [] : [.terminal])
    }

    /// Copies the bytes to a clipboard.
    ///
    /// - Returns: the clipboard that accepted them.
    static func copy(_ bytes: Span<UInt8>) throws -> Clipboard {
        var failure: any Error = missing
        for clipboard in candidates {
            do {
                try clipboard.set(bytes)
                return clipboard
            } catch { failure = error }
        }
        throw failure
    }

    private static func isSet(_ variable: String) -> Bool {
        unsafe getenv(variable).map { unsafe $0.pointee != 0 } ?? false
    }

    func set(_ bytes: Span<UInt8>) throws {
        switch self {
        case .wayland: try Helper(["wl-copy"] + Clipboard.hint).give(bytes)
        case .x11: try Helper(["xclip", "-selection", "clipboard", "-in"]).give(bytes)
        case .terminal:
            guard let terminal = Terminal() else { throw Clipboard.missing }
            try Clipboard.sequence(bytes).withBytes { terminal.write($0) }
        }
    }

    /// The option of wl-copy 2.3 that offers the type `x-kde-passwordManagerHint` as well, by which clipboard managers
    /// keep a secret out of their histories; earlier versions, and xclip, offer one type only.
    private static var hint: [String] {
        let option = "--sensitive"
        let help = try? Helper(["wl-copy", "--help"]).answer()
        let isKnown = help?.withBytes { String(decoding: $0.array, as: UTF8.self).contains(option) } ?? false
        return isKnown ? [option] : []
    }

    /// Returns the sequence that sets a terminal's clipboard.
    private static func sequence(_ bytes: Span<UInt8>) throws -> SecretBytes {
        var sequence = try SecretBuffer(capacity: bytes.count * 4 / 3 + 16)
        try sequence.append("\u{1B}]52;c;".utf8)
        try sequence.append(base64: bytes)
        try sequence.append(7)
        return try sequence.take()
    }

    /// Overwrites the clipboard of the terminal at standard output with a blank: some terminals ignore an empty text.
    static func overwriteTerminals() throws {
        try sequence([UInt8(ascii: " ")].span).withBytes { try Output.write($0) }
    }

    /// Returns the content; `nil` if it cannot be read.
    func content() throws -> SecretBytes? {
        switch self {
        case .wayland: try Helper(["wl-paste", "--no-newline"]).answer()
        case .x11: try Helper(["xclip", "-selection", "clipboard", "-out"]).answer()
        case .terminal: nil
        }
    }

    func clear() throws {
        switch self {
        case .wayland: try Helper(["wl-copy", "--clear"]).give([UInt8]().span)
        case .x11: try Helper(["xclip", "-selection", "clipboard", "-in"]).give([UInt8]().span)
        case .terminal: break
        }
    }

    static let missing = CommandError(
        .failure, "there is no clipboard", hint: "install wl-clipboard or xclip, or use a terminal that has one")
}

struct Copy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy an item's secret to the clipboard.",
        discussion: """
            Uses wl-copy, xclip, or the terminal itself (OSC 52), which also works over SSH. With wl-copy 2.3 or \
            later, clipboard managers are told not to keep the secret; others may have a history. After 45 seconds \
            the clipboard is cleared if it still contains the secret. A terminal's clipboard cannot be read: it is \
            overwritten with a blank, regardless of its content.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection
    @OptionGroup var part: FieldOption

    @Option(help: ArgumentHelp("Clear it after this time, such as 45s or 2m; 0 for never.", valueName: "time"))
    var clearAfter = "45s"

    @Flag(help: "Copy even the seed of one-time passwords; 'vault otp --copy' copies the current password.")
    var force = false

    func validate() throws {
        guard Copy.seconds(clearAfter) != nil else {
            throw ValidationError("--clear-after takes a time of at most a day, such as 45s or 2m")
        }
    }

    func run() throws {
        let access = try vault.access(selection.groups, onlyReads: true)
        guard !Clipboard.candidates.isEmpty else { throw Clipboard.missing }
        try access.withVault { vault in
            let secret = try part.secret(of: selection.only(in: vault))
            guard force || !secret.withBytes({ OneTimePassword.isURI($0) }) else {
                throw CommandError.usage(
                    "the secret is the seed of one-time passwords",
                    hint: "'vault otp --copy' copies the password of now; or --force")
            }
            try secret.copy(clearAfter: Copy.seconds(clearAfter) ?? 0)
        }
    }

    /// Parses `90`, `45s`, `2m` or `1h` into seconds.
    static func seconds(_ text: String) -> Int? {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int(unit == nil ? text[...] : text.dropLast()), (0...86_400).contains(number) else {
            return nil
        }
        let seconds = number * (unit ?? 1)
        return seconds <= 86_400 ? seconds : nil
    }
}

extension Secret {
    /// Copies the bytes, and leaves a process behind that clears the clipboard.
    ///
    /// - Parameter seconds: the delay before clearing; 0 for never.
    func copy(clearAfter seconds: Int) throws {
        if let note = try copied(clearAfter: seconds) { Output.note(note) }
    }

    /// Copies the bytes like ``copy(clearAfter:)``.
    ///
    /// - Returns: a note for the user.
    func copied(clearAfter seconds: Int) throws -> String? {
        let clipboard = try withBytes { try Clipboard.copy($0) }
        guard seconds > 0 else {
            guard clipboard == .terminal else { return nil }
            return "the terminal's clipboard has the secret until something else is copied"
        }
        let helper = Helper([
            Helper.ownExecutable, ClearClipboard.name, "--of", clipboard.rawValue, "--after", String(seconds),
        ])
        guard clipboard != .terminal else {
            try Terminal()?.withDescriptor { try helper.leave([UInt8]().span, writingTo: $0) }
            return "the terminal's clipboard is overwritten in \(seconds) s, whatever it contains"
        }
        let seal = try ClipboardSeal(of: self)
        try seal.withBytes { try helper.leave($0) }
        return "the clipboard is cleared in \(seconds) s if it still has the secret"
    }
}

/// A value that recognizes a secret without revealing it: a hash under a random key.
struct ClipboardSeal: ~Copyable {
    static let length = 64
    private let bytes: SecretBytes

    init(of secret: Secret) throws {
        let key = try SecretBytes(random: 32)
        var bytes = try SecretBytes(zeroed: ClipboardSeal.length)
        key.withBytes { bytes.replace(at: 0, with: $0) }
        let hash = secret.withBytes { ClipboardSeal.hash($0, key: key) }
        bytes.replace(at: 32, with: hash.bytes.span)
        self.bytes = bytes
    }

    /// - Parameter bytes: the bytes lent by ``withBytes(_:)``.
    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    func isOf(_ content: borrowing SecretBytes) throws -> Bool {
        let key = try bytes.copy(of: 0..<32)
        let hash = content.withBytes { ClipboardSeal.hash($0, key: key) }
        return bytes.withBytes { isEqualInConstantTime($0.extracting(32..<64), hash.bytes.span) }
    }

    func withBytes(_ body: (Span<UInt8>) throws -> Void) rethrows { try bytes.withBytes(body) }

    private static func hash(_ content: Span<UInt8>, key: borrowing SecretBytes) -> Digest {
        var hash = KeyedHash(key: key)
        hash.update(content)
        return hash.digest()
    }
}

/// The process left behind by `copy`: waits, and clears the clipboard unless other content was copied since.
struct ClearClipboard: ParsableCommand {
    static let name = "clear-clipboard"
    static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

    @Option var of: Clipboard
    @Option var after: Int

    func run() throws {
        guard of != .terminal else {
            sleep(UInt32(clamping: after))
            return try Clipboard.overwriteTerminals()
        }
        let tooLong = CommandError.usage("that is no seal")
        let bytes = try SecretReader.read(STDIN_FILENO, limit: ClipboardSeal.length, tooLong: tooLong)
        guard bytes.count == ClipboardSeal.length else { throw tooLong }
        let seal = ClipboardSeal(bytes)
        sleep(UInt32(clamping: after))
        guard let content = try of.content(), try seal.isOf(content) else { return }
        try of.clear()
    }
}

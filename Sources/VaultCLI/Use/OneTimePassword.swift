// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultCrypto

/// What makes one-time passwords of the time (RFC 6238): an `otpauth://totp/…` URI, as QR codes have it, or its secret
/// alone in base32.
struct OneTimePassword: ~Copyable {
    private let key: SecretBytes
    private(set) var hash = MessageAuthentication.sha1
    private(set) var digits = 6
    private(set) var period = 30

    private static let scheme = "otpauth://"

    /// - Throws: code 64, with nothing of what was there.
    init(_ text: Span<UInt8>) throws {
        guard Self.isURI(text) else {
            key = try Base32.decoded(text)
            return
        }
        let failure = CommandError.usage("the secret is no otpauth:// URI that says how passwords are made of the time")
        let kind = Self.scheme.utf8.count..<Self.scheme.utf8.count + 5
        guard kind.upperBound <= text.count, zip(kind, "totp/".utf8).allSatisfy({ text[$0] | 0x20 == $1 | 0x20 }),
            let question = text.indices.first(where: { text[$0] == UInt8(ascii: "?") })
        else { throw failure }
        var secret: Range<Int>?
        var start = question + 1
        while start < text.count {
            let end =
                (start..<text.count).first { text[$0] == UInt8(ascii: "&") || text[$0] == UInt8(ascii: "#") }
                ?? text.count
            let split = (start..<end).first { text[$0] == UInt8(ascii: "=") } ?? end
            let name = String(decoding: text.extracting(start..<split).array, as: UTF8.self)
            let value = min(split + 1, end)..<end
            switch name {
            case "secret": secret = value
            case "algorithm":
                switch String(decoding: text.extracting(value).array, as: UTF8.self).uppercased() {
                case "SHA1": hash = .sha1
                case "SHA256": hash = .sha256
                case "SHA512": hash = .sha512
                default:
                    throw CommandError.usage(
                        "the algorithm of the one-time password is none of SHA1, SHA256 and SHA512")
                }
            case "digits": digits = try Self.number(text.extracting(value), in: 6...10)
            case "period": period = try Self.number(text.extracting(value), in: 1...86_400)
            // Who issued it, an image, and whatever comes: nothing of it changes the password.
            default: break
            }
            start = end + 1
            if end < text.count, text[end] == UInt8(ascii: "#") { break }
        }
        guard let secret else { throw failure }
        key = try Base32.decoded(text.extracting(secret))
    }

    /// Whether the text says of itself that it is a seed.
    static func isURI(_ text: Span<UInt8>) -> Bool {
        text.count >= scheme.utf8.count && zip(text.indices, scheme.utf8).allSatisfy { text[$0] == $1 }
    }

    private static func number(_ text: Span<UInt8>, in range: ClosedRange<Int>) throws -> Int {
        guard let number = Int(String(decoding: text.array, as: UTF8.self)), range.contains(number) else {
            throw CommandError.usage("the digits or the period of the one-time password are not what one can have")
        }
        return number
    }

    /// The password at a time, RFC 4226 section 5.3 over the number of periods since 1970.
    func code(at seconds: UInt64) throws -> String {
        let counter = seconds / UInt64(period)
        let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> UInt64(56 - 8 * $0)) }
        let hash: SecretBytes
        do throws(CryptoError) { hash = try self.hash.code(of: message.span, key: key) } catch {
            guard error == .unavailable else { throw CommandError(error) }
            throw CommandError(.failure, "there is no SHA-1 on this machine", hint: "install libssl3")
        }
        var number = hash.withBytes { bytes in
            let offset = Int(bytes[bytes.count - 1] & 15)
            return (0..<4).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[offset + $1]) } & 0x7fff_ffff
        }
        number %= (0..<digits).reduce(UInt64(1)) { power, _ in power * 10 }
        let text = String(number)
        return String(repeating: "0", count: digits - text.count) + text
    }
}

/// RFC 4648 section 6, as people write it: in lower case too, in groups, with or without padding.
enum Base32 {
    static func decoded(_ text: Span<UInt8>) throws -> SecretBytes {
        var output = try SecretBytes(zeroed: text.count * 5 / 8 + 1)
        var (bits, held, count) = (0, UInt32(0), 0)
        var isPadding = false
        for index in text.indices {
            let byte = text[index]
            let value: UInt8
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "-"): continue
            case UInt8(ascii: "="), UInt8(ascii: "%"):
                isPadding = true
                continue
            // %3D: a padding as it stands in a URI.
            case UInt8(ascii: "3"), UInt8(ascii: "D"), UInt8(ascii: "d"):
                if isPadding { continue }
                value = byte == UInt8(ascii: "3") ? 27 : 3
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = byte - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = byte - UInt8(ascii: "2") + 26
            default: throw flaw
            }
            guard !isPadding else { throw flaw }
            held = held << 5 | UInt32(value)
            bits += 5
            guard bits >= 8 else { continue }
            bits -= 8
            let (index, decoded) = (count, UInt8(truncatingIfNeeded: held >> UInt32(bits)))
            output.withMutableBytes { $0[index] = decoded }
            count += 1
        }
        guard count > 0 else { throw flaw }
        return output.narrowed(to: 0..<count)
    }

    private static let flaw = CommandError.usage("the secret is neither an otpauth:// URI nor base32")
}

struct Otp: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "otp",
        abstract: "Print the one-time password of now.",
        discussion: """
            The item's field 'otp', else its secret, is an otpauth://totp/… URI, or a key in base32, which then means \
            SHA-1, 6 digits and 30 seconds (RFC 6238). On a terminal it is said how long the password is good for.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var selection: ItemSelection

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Copy it to the clipboard, which is cleared when it is no longer good, instead of printing it.")
    var copy = false

    func validate() throws {
        guard !copy || !json else { throw ValidationError("--copy and --json exclude each other") }
    }

    func run() throws {
        let secret = try vault.access(selection.groups, onlyReads: true).withVault { vault in
            let item = try selection.only(in: vault)
            return try item.openedSecret(field: item.fieldNames.contains("otp") ? "otp" : nil)
        }
        guard let secret else { throw CommandError(.notFound, "the item has no secret") }
        let password = try secret.withBytes { try OneTimePassword($0) }
        let now = UInt64(max(0, Date().timeIntervalSince1970))
        let code = try password.code(at: now)
        let left = password.period - Int(now % UInt64(password.period))
        guard !copy else { return try Secret(SecretBytes(copying: Array(code.utf8).span)).copy(clearAfter: left) }
        guard !json else {
            return try Output.line("{\"code\":\"\(code)\",\"period\":\(password.period),\"validFor\":\(left)}")
        }
        try Output.line(code)
        if Terminal.isTerminal(STDERR_FILENO) { Output.note("good for \(left) s") }
    }
}

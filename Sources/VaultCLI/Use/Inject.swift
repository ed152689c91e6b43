// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultFormat

struct Inject: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inject",
        abstract: "Fill in the references of a template.",
        discussion: """
            Replaces each {{ vault://SERVICE/ACCOUNT }} by the secret's exact bytes; everything else stays unchanged, \
            also a reference without the braces, of which a warning tells. Nothing is written unless every reference \
            is found.
            """)

    @OptionGroup var vault: VaultOptions

    @Option(
        name: [.customShort("i"), .customLong("in")],
        help: ArgumentHelp("The template; else standard input.", valueName: "file"),
        completion: .file())
    var input: String?

    @Option(
        name: [.customShort("o"), .customLong("out")],
        help: ArgumentHelp("The new file, mode 0600; else standard output.", valueName: "file"), completion: .file()
    )
    var output: String?

    @Flag(help: "Replace the file without asking.")
    var yes = false

    @Option(help: "The access group.")
    var group: String?

    func run() throws {
        let access = try vault.access(.named(group), for: .use, onlyReads: true)
        guard input != nil || vault.passphrase.passphraseFd != 0 else {
            throw CommandError.usage("standard input cannot be both the template and the passphrase")
        }
        guard output != nil || !access.isInjectOnly else {
            throw CommandError(
                .failure, "refused: the agent's policy lets this program use secrets, but not print them",
                hint: "-o FILE")
        }
        let target = output.map(OutputFile.init)
        if let target, target.exists, !yes { try Confirmation.checkPossible() }
        let tooLong = CommandError(.usage, "a template has at most 16 MiB")
        let bytes =
            try input.map { try SecretReader.read(file: $0, limit: Layout.valueLimit, tooLong: tooLong) }
            ?? SecretReader.read(0, limit: Layout.valueLimit, tooLong: tooLong)
        let template = try bytes.withBytes { try Template($0) }
        template.bare.warn { "line \($0.line): '\($0.text)' stays as it is: {{ \($0.text) }} is filled in" }
        let filled = try access.withVault { vault in
            try template.fill { reference, line in
                try reference.secret(in: vault, for: "line \(line)")
            }
        }
        guard let target else { return try filled.withBytes { try Output.write($0) } }
        if target.exists, !yes { try Confirmation.ask("Replace '\(target.path.printable)'?") }
        try filled.withBytes { try target.replace(with: $0) }
    }
}

/// A template with references between `{{` and `}}`. Kept in locked memory, since a template may contain secrets
/// itself.
struct Template {
    private enum Part {
        case text(Range<Int>)
        case reference(SecretReference, line: Int)
    }

    private let bytes: Secret
    private var parts: [Part] = []
    /// The references without braces, which stay.
    private(set) var bare = BareReferences()

    /// - Throws: code 64 for text between braces that begins like a reference but is invalid.
    init(_ source: Span<UInt8>) throws {
        bytes = Secret(try SecretBytes(copying: source))
        var (start, position, line) = (0, 0, 1)
        while position < source.count {
            if source[position] == UInt8(ascii: "\n") { line += 1 }
            guard Template.isPair(UInt8(ascii: "{"), at: position, source) else {
                bare.look(at: position, of: source, line: line)
                position += 1
                continue
            }
            var inside = position + 2
            while inside < source.count, Template.isBlank(source[inside]) { inside += 1 }
            // Other programs use braces as well.
            guard source.hasReference(at: inside) else {
                position += 1
                continue
            }
            var end = inside
            while end < source.count, !Template.isPair(UInt8(ascii: "}"), at: end, source),
                source[end] != UInt8(ascii: "\n")
            { end += 1 }
            let text = String(validating: source.extracting(inside..<end).array, as: UTF8.self)
            var trimmed = text ?? ""
            while let last = trimmed.last, last == " " || last == "\t" { trimmed.removeLast() }
            guard Template.isPair(UInt8(ascii: "}"), at: end, source), let reference = SecretReference(trimmed) else {
                throw CommandError.usage(
                    "the reference on line \(line) is not well formed", hint: "{{ vault://SERVICE/ACCOUNT }}")
            }
            if start < position { parts.append(.text(start..<position)) }
            parts.append(.reference(reference, line: line))
            position = end + 2
            start = position
        }
        if start < source.count { parts.append(.text(start..<source.count)) }
    }

    /// - Parameter secret: returns the secret of a reference on a line.
    func fill(_ secret: (SecretReference, Int) throws -> Secret) throws -> Secret {
        var secrets: [Secret] = []
        var length = 0
        for part in parts {
            switch part {
            case .text(let range): length += range.count
            case .reference(let reference, let line):
                secrets.append(try secret(reference, line))
                length += secrets[secrets.count - 1].count
            }
        }
        var filled = try SecretBytes(zeroed: length)
        var (offset, next) = (0, 0)
        for part in parts {
            switch part {
            case .text(let range):
                bytes.withBytes { filled.replace(at: offset, with: $0.extracting(range)) }
                offset += range.count
            case .reference:
                secrets[next].withBytes { filled.replace(at: offset, with: $0) }
                offset += secrets[next].count
                next += 1
            }
        }
        return Secret(filled)
    }

    private static func isPair(_ byte: UInt8, at index: Int, _ bytes: Span<UInt8>) -> Bool {
        index + 1 < bytes.count && bytes[index] == byte && bytes[index + 1] == byte
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultSystem

/// The option for programs that read the output.
struct JSONOption: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false
}

/// Writes results to standard output, and everything else to standard error.
enum Output {
    /// Writes bytes to standard output, or to another descriptor.
    ///
    /// - Parameter name: the name of the content, for display.
    /// - Throws: code 30 if not all bytes could be written.
    static func write(
        _ bytes: Span<UInt8>, to descriptor: Int32 = STDOUT_FILENO, as name: String = "the output"
    ) throws {
        try attempt("write \(name)", try Descriptor.write(bytes, to: descriptor))
    }

    static func write(_ text: String) throws { try write(Array(text.utf8).span) }

    static func line(_ text: String) throws { try write(text + "\n") }

    /// Writes a value as JSON with stable keys, followed by a newline.
    static func json(_ value: some Encodable) throws {
        let bytes = try encoded(value)
        try write(bytes.span)
        try write("\n")
    }

    /// Writes a JSON array, whose elements may have secrets.
    static func array<Element>(
        _ elements: [Element], separator: String = ",\n ", _ json: (Element) throws -> SecretBytes
    ) throws {
        try write("[")
        for (index, element) in elements.enumerated() {
            if index > 0 { try write(separator) }
            try json(element).withBytes { try write($0) }
        }
        try write("]\n")
    }

    /// Returns a value as JSON with stable keys, safe for a terminal.
    static func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return JSONText.escaped(Array(try encoder.encode(value)).span)
    }

    /// Reports on a change that is made and durable: a failure from here on says that the change stands.
    ///
    /// - Parameters:
    ///   - done: the change, as a clause, such as "the device is removed".
    ///   - hint: the command that shows again what could not be shown; `nil` for the failure's own hint.
    ///   - onlyWarns: whether the command ends with another failure, which weighs more than lost output.
    static func after(_ done: String, hint: String? = nil, onlyWarns: Bool = false, _ body: () throws -> Void) throws {
        do { try body() } catch {
            guard var failure = CommandLineTool.failure(error) else { throw error }
            failure.message = "\(done), but this failed: \(failure.message)"
            failure.hint = hint ?? failure.hint
            guard onlyWarns else { throw failure }
            warn(failure.message + (failure.hint.map { ": \($0)" } ?? ""))
        }
    }

    /// Writes a list: as JSON, or as lines; an empty one says so to a person, on standard error.
    ///
    /// - Parameters:
    ///   - name: of the rows, such as "remotes".
    ///   - text: the line of a row, or its lines.
    static func list<Row: Encodable>(_ rows: [Row], asJSON: Bool, named name: String, _ text: (Row) -> String) throws {
        guard !asJSON else { return try json(rows) }
        guard !rows.isEmpty else { return note("no \(name)") }
        try write(rows.map(text).joined())
    }

    static func note(_ text: String) { error("vault: note: \(text)\n") }

    static func warn(_ text: String) { error("vault: warning: \(text)\n") }

    static func fail(_ failure: CommandError) {
        error("vault: error: \(failure.message)\n")
        if let hint = failure.hint { error("vault: hint: \(hint)\n") }
    }

    static func error(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

extension Unicode.Scalar {
    /// Whether a terminal interprets the character, or a reader cannot see it: control characters, including C1,
    /// direction marks and other format characters.
    var isObeyed: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension String {
    /// The lines of the text, for a person: without characters that a terminal obeys, and with backslashes as they are.
    /// A line break at the end begins no line.
    var printableLines: [String] {
        var lines = split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        if lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { line in
            line.split(separator: "\\", omittingEmptySubsequences: false).map { String($0).printable }
                .joined(separator: "\\")
        }
    }

    /// The text with escapes for characters that move a cursor or break a line.
    var printable: String {
        var output = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\t": output += "\\t"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\\": output += "\\\\"
            case _ where scalar.isObeyed: output += "\\u{\(String(scalar.value, radix: 16))}"
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }
}

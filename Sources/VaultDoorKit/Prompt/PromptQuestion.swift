// SPDX-License-Identifier: Apache-2.0

/// A question to the user.
package struct PromptQuestion: Sendable {
    package var title = "vault"
    /// The lines of the text. Names in them are escaped for the place of display.
    package var description: [String]
    package var prompt = "Passphrase:"
    /// The error of the previous answer.
    package var error: String?
    /// Whether the answer is a new passphrase, to be typed twice.
    package var isNew = false

    package init(_ description: [String]) { self.description = description }
}

// Text from other programs appears in quotation marks, so that it cannot pass for the question's own words.

extension PromptQuestion {
    /// The line for a question caused by a program on another machine.
    private static let fromElsewhere = "The request comes from another machine."

    /// Returns the closing lines of a question asked for a client.
    ///
    /// - Parameters:
    ///   - isForwarded: whether the request may come from another machine.
    ///   - end: the end of the sentence that names the client.
    package static func askerLines(_ client: DoorClient, isForwarded: Bool, end: String = "") -> [String] {
        ["for \(asker(client))\(end)"] + (isForwarded ? [fromElsewhere] : [])
    }

    /// Quotes a name chosen by the program's author, or by another program.
    ///
    /// - Parameter longest: the maximum length in scalars, so that the rest of the question fits behind it.
    package static func quoted(_ name: String, longest: Int = 48) -> String { "'\(withoutMarks(name, longest))'" }

    /// Quotes a message of a program to the user.
    static func saying(_ text: String, longest: Int) -> String { "\u{201C}\(withoutMarks(text, longest))\u{201D}" }

    /// Describes a process, as in `'ssh' (process 7)`.
    private static func asker(_ client: DoorClient) -> String {
        let name =
            switch client.sandbox {
            case nil: client.program.isEmpty ? "a program" : quoted(client.program)
            // All sandboxes of a kind reach the bus through the same proxy program.
            case "": "an application in a sandbox"
            case let application?: "the application \(quoted(application, longest: 64))"
            }
        return "\(name) (process \(client.process))"
    }

    /// Returns the text without characters that would end a quotation, or look as if they did: the text after them
    /// would seem to be the door's own.
    private static func withoutMarks(_ text: String, _ longest: Int) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(longest) {
            result.append(scalar.properties.isQuotationMark || lookalikes.contains(scalar) ? "`" : scalar)
        }
        if text.unicodeScalars.count > longest { result.append("\u{2026}") }
        return String(result)
    }

    /// Accents, primes and modifier letters: not quotation marks in Unicode, but indistinguishable from them.
    private static let lookalikes: Set<Unicode.Scalar> = [
        "\u{A8}", "\u{B4}", "\u{2B9}", "\u{2BA}", "\u{2BB}", "\u{2BC}", "\u{2BD}", "\u{2C8}", "\u{2CA}", "\u{2EE}",
        "\u{2032}", "\u{2033}", "\u{2034}", "\u{2035}", "\u{2036}", "\u{2037}",
    ]
}

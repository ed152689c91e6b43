// SPDX-License-Identifier: Apache-2.0

/// What a person is asked.
package struct PromptQuestion: Sendable {
    package var title = "vault"
    /// Lines. Names in them are escaped for the place where they go.
    package var description: [String]
    package var prompt = "Passphrase:"
    /// What was wrong with the last answer.
    package var error: String?
    /// Whether the answer is new, and has to be typed twice.
    package var isNew = false

    package init(_ description: [String]) { self.description = description }
}

// What other programs say stands in a question as a quotation: it is never a question's own word.

extension PromptQuestion {
    /// The line of a question that a program on another machine has caused.
    private static let fromElsewhere = "The request comes from another machine."

    /// The lines by which a question ends that is asked for a client.
    ///
    /// - Parameters:
    ///   - isForwarded: whether a program on another machine may want it.
    ///   - end: of the sentence that names the client.
    package static func askerLines(_ client: DoorClient, isForwarded: Bool, end: String = "") -> [String] {
        ["for \(asker(client))\(end)"] + (isForwarded ? [fromElsewhere] : [])
    }

    /// A name that its program's author, or another program, has chosen.
    ///
    /// - Parameter longest: in scalars: what belongs to the question has to find room behind it.
    package static func quoted(_ name: String, longest: Int = 48) -> String {
        "'\(withoutMarks(name, longest))'"
    }

    /// What a program says to the person.
    static func saying(_ text: String, longest: Int) -> String {
        "\u{201C}\(withoutMarks(text, longest))\u{201D}"
    }

    /// A process, as a question names it: `'ssh' (process 7)`.
    private static func asker(_ client: DoorClient) -> String {
        let name =
            switch client.sandbox {
            case nil: client.program.isEmpty ? "a program" : quoted(client.program)
            // A sandbox reaches the bus through a process that is the same program for all of them.
            case "": "an application in a sandbox"
            case let application?: "the application \(quoted(application, longest: 64))"
            }
        return "\(name) (process \(client.process))"
    }

    /// The text without what would end a quotation, or look as if it did: what follows would seem to be the door's own
    /// words.
    private static func withoutMarks(_ text: String, _ longest: Int) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(longest) {
            result.append(scalar.properties.isQuotationMark || lookalikes.contains(scalar) ? "`" : scalar)
        }
        if text.unicodeScalars.count > longest { result.append("\u{2026}") }
        return String(result)
    }

    /// Accents, primes and letters that stand apart: no quotation marks for Unicode, and not to be told from them.
    private static let lookalikes: Set<Unicode.Scalar> = [
        "\u{A8}", "\u{B4}", "\u{2B9}", "\u{2BA}", "\u{2BB}", "\u{2BC}", "\u{2BD}", "\u{2C8}", "\u{2CA}", "\u{2EE}",
        "\u{2032}", "\u{2033}", "\u{2034}", "\u{2035}", "\u{2036}", "\u{2037}",
    ]
}

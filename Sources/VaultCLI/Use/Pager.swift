// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault

/// The program by which people read what is longer than their screen.
enum Pager {
    /// `less` leaves short texts on the screen, and keeps no list of what was searched for.
    private static let settings = "export LESS=\"${LESS-FX}\" LESSHISTFILE=\"${LESSHISTFILE--}\"; "

    /// Writes a text to standard output: by $PAGER, else less, where that is a terminal with fewer lines.
    static func show(_ text: String) throws {
        let height = Terminal.height(of: STDOUT_FILENO)
        let isLong = height > 0 && text.utf8.count { $0 == 0x0a } >= height
        guard isLong, Terminal.isTerminal(STDIN_FILENO), let command else { return try Output.write(text) }
        let status = try Helper(["/bin/sh", "-c", settings + command]).show(Array(text.utf8).span)
        // As a shell says it of a program that is not there.
        if status == 126 || status == 127 { try Output.write(text) }
    }

    /// The beginning of a command line, as man(1) has it. Nil: there is none.
    private static var command: String? {
        if let named = ProcessEnvironment.variable("PAGER"), !named.isEmpty { return named }
        return Helper(["less"]).exists ? "less" : nil
    }
}

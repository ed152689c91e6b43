// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault

/// The program that displays text longer than the screen.
enum Pager {
    /// `less` leaves short texts on the screen, and keeps no search history.
    private static let settings = "export LESS=\"${LESS-FX}\" LESSHISTFILE=\"${LESSHISTFILE--}\"; "

    /// Writes a text to standard output; if that is a terminal with fewer lines, through $PAGER, or else less.
    static func show(_ text: String) throws {
        let height = Terminal.height(of: STDOUT_FILENO)
        let isLong = height > 0 && text.utf8.count { $0 == 0x0a } >= height
        guard isLong, Terminal.isTerminal(STDIN_FILENO), let command else { return try Output.write(text) }
        let status = try Helper(["/bin/sh", "-c", settings + command]).show(Array(text.utf8).span)
        // The exit codes of a shell for a program that cannot be run.
        if status == 126 || status == 127 { try Output.write(text) }
    }

    /// The pager's command line, chosen like man(1) does; `nil` if there is none.
    private static var command: String? {
        if let named = ProcessEnvironment.variable("PAGER"), !named.isEmpty { return named }
        return Helper(["less"]).exists ? "less" : nil
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The parser's scripts, made fit for names that others have chosen.
enum CompletionScript {
    static func fit(_ script: String, for shell: CompletionShell) -> String {
        switch shell {
        case .bash:
            script.replacing(expanding, with: comparing).replacing(begin, with: function + begin, maxReplacements: 1)
        // With the option off, zsh offers `!` as it is, and the line that is run would repeat an older one there.
        case .zsh: script.replacing("unsetopt aliases banghist", with: "unsetopt aliases")
        // fish 3 knows where the cursor is in interactive shells alone; how long the word is up to there, in all.
        case .fish: script.replacing("(__vault_tokens -tC)", with: #"(string length -- "$(commandline -ct)")"#)
        default: script
        }
    }

    // `compgen -W` expands every word that it is given: an item called `$(rm -r ~)` would be run when a person presses
    // the tabulator. Words are compared here instead, and are offered as the shell wants them quoted, so that they name
    // themselves when the line is run as well.
    private static let expanding = "__vault_add_completions -W \"$(__vault_custom_complete "
    private static let comparing = "__vault_offer_words \"$(__vault_custom_complete "
    private static let begin = "__vault_custom_complete() {\n"
    private static let function = #"""
        __vault_offer_words() {
            local completion quoted
            while IFS='' read -r completion; do
                [[ -n "${completion}" ]] || continue
                printf -v quoted '%q' "${completion}"
                if [[ "${completion}" = "${cur}"* || "${quoted}" = "${cur}"* ]]; then
                    COMPREPLY+=("${quoted}")
                fi
            done <<< "${1}"
            # They are quoted already, and are no files.
            compopt +o filenames 2>/dev/null
        }


        """#
}

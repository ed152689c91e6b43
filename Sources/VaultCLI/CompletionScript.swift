// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// Adapts the parser's completion scripts, so that names chosen by others are safe.
enum CompletionScript {
    static func fit(_ script: String, for shell: CompletionShell) -> String {
        switch shell {
        case .bash:
            script.replacing(expanding, with: comparing).replacing(begin, with: function + begin, maxReplacements: 1)
        // With the option unset, zsh offers `!` unquoted, and running the line would expand it from the history.
        case .zsh: script.replacing("unsetopt aliases banghist", with: "unsetopt aliases")
        // Only interactive fish 3 knows the cursor position; every fish knows the length of the word up to it.
        case .fish: script.replacing("(__vault_tokens -tC)", with: #"(string length -- "$(commandline -ct)")"#)
        default: script
        }
    }

    // `compgen -W` expands every word: an item called `$(rm -r ~)` would be executed when the user presses Tab. The
    // replacement compares words instead, and offers them quoted, so that they are literal when the line is run as
    // well.
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

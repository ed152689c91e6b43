// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The scripts that make a shell offer completions.
enum CompletionScript {
    static func script(for shell: CompletionShell) -> String {
        switch shell {
        case .bash: bash
        case .fish: fish
        // With the option unset, zsh offers `!` unquoted, and running the line would expand it from the history.
        default:
            VaultCommand.completionScript(for: shell).replacing(
                "unsetopt aliases banghist", with: "unsetopt aliases")
        }
    }

    // The parser's own script hands all names to `compgen -W`, which expands them: an item called `$(rm -r ~)` would be
    // executed when the user presses Tab. Here names are offered quoted, and are literal when the line is run as well.
    //
    // bash splits words at colons, and replaces only the part behind the last one, unless that is quoted.
    private static let bash = #"""
        _vault() {
            local line="${COMP_LINE:0:COMP_POINT}" cur="${2}" offered completion quoted start before
            offered="$("${COMP_WORDS[0]}" complete-line -- "${line}" 2>/dev/null)"
            COMPREPLY=()
            if [[ "${offered}" = ":paths" ]]; then
                compopt -o filenames 2>/dev/null
                while IFS='' read -r completion; do COMPREPLY+=("${completion}"); done < <(compgen -f -- "${cur}")
                return
            fi
            line="${line%"${cur}"}"
            while IFS='' read -r completion; do
                [[ -n "${completion}" ]] || continue
                printf -v quoted '%q' "${completion}"
                if [[ "${line}" != *[:=] ]]; then
                    COMPREPLY+=("${quoted}")
                    continue
                fi
                # The part up to the last colon that stands before the cursor already stays.
                start="${quoted}"
                while [[ "${start}" = *[:=]* ]]; do
                    start="${start%[:=]*}"
                    before="${quoted:0:${#start}+1}"
                    if [[ "${line}" = *"${before}" ]]; then
                        COMPREPLY+=("${quoted#"${before}"}")
                        break
                    fi
                done
            done <<< "${offered}"
        }
        complete -F _vault vault
        """#

    // One process for each Tab. The parser's own script evaluates a condition for each option of each command.
    private static let fish = #"""
        function __vault_complete
            set -l tokens (commandline -opc)
            set -l offered (command $tokens[1] complete-line --described -- (commandline -cp | string collect))
            if test "$offered[1]" = ":paths"
                __fish_complete_path (commandline -ct)
            else
                printf '%s\n' $offered
            end
        end
        complete -c vault -f -k -a '(__vault_complete)'
        """#
}

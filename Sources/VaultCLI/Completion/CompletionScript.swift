// SPDX-License-Identifier: Apache-2.0

/// The scripts that make a shell offer completions: each asks `vault complete-line`.
///
/// The parser's own scripts are not used. For bash they let `compgen -W` expand all names: an item called `$(rm -r ~)`
/// would be executed when the user presses Tab. For fish they evaluate a condition for each option of each command.
/// Here each shell offers names quoted, which are literal when the line is run as well.
enum CompletionScript: String, CaseIterable {
    case bash, zsh, fish

    var text: String {
        switch self {
        case .bash: CompletionScript.bashText
        case .zsh: CompletionScript.zshText
        case .fish: CompletionScript.fishText
        }
    }

    // bash splits words at colons, and replaces only the part behind the last one, unless that is quoted.
    private static let bashText = #"""
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

    // An open quote is no part of PREFIX. The last line is for a file that is sourced, and not found by compinit.
    private static let zshText = #"""
        #compdef vault
        _vault() {
            local line
            local -a offered shown
            for line in ${(f)"$(command "${(Q)words[1]}" complete-line --described -- \
                "${(j: :)words[1,CURRENT-1]} ${compstate[quote]}${PREFIX}" 2>/dev/null)"}; do
                [[ "${line}" = ":paths" ]] && { _files; return }
                offered+=("${line%%$'\t'*}")
                shown+=("${line/$'\t'/  -- }")
            done
            compadd -l -d shown -a offered
        }
        if [[ "${funcstack[1]}" = _vault ]]; then _vault; else compdef _vault vault; fi
        """#

    private static let fishText = #"""
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

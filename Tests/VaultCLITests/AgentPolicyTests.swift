// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing

struct AgentPolicyTests {
    @Test func `a rule for a script keeps the agent from starting, and doctor says what holds instead`() throws {
        let shell = try Shell()
        let result = try shell.run(
            """
            chmod 600 pass; mkdir -p .config/vault; vault init --kdf interactive --passphrase-file pass >/dev/null 2>&1
            printf '#!/bin/sh\\n' > assistant
            echo '{ "rules": [ { "executable": "'$HOME/assistant'", "access": "none" } ] }' > .config/vault/policy.json
            vault unlock --passphrase-file pass; echo $?
            vault doctor | grep '^fail'
            """
        )
        let home = shell.home.path.string
        let flaw = "a rule of the policy names the script '\(home)/assistant', whose processes are its interpreter's"
        #expect(result.output == "64\nfail  \(flaw)\n")
        let hint = """
            vault: hint: name a unit, such as "unit": "assistant.scope", and start it by 'systemd-run --user --scope \
            --unit=assistant \(home)/assistant'\n
            """
        #expect(result.error == "vault: error: \(flaw)\n\(hint)vault: error: \(flaw)\n\(hint)")
    }
}

// SPDX-License-Identifier: Apache-2.0

/// vault(7): topics common to all commands.
enum OverviewManual {
    static var page: ManualPage {
        var page = ManualPage(section: 7, about: "a vault of secrets, its agent and its references")
        for (title, text) in sections {
            page.section(title)
            page.paragraph(text)
        }
        page.section("ENVIRONMENT")
        for (name, meaning) in variables { page.item(name, meaning) }
        page.section("FILES")
        for (name, meaning) in files { page.item(name, meaning) }
        page.section("SEE ALSO")
        page.paragraph("vault(1)")
        return page
    }

    private static let sections = [
        (
            "THE VAULT",
            """
            A vault is one encrypted file. Every item in it has a class, a primary key (of a generic password: service,
            account and access group), further attributes, and a secret. Without the key, an attacker can neither read
            an item nor change one unnoticed. Argon2id derives the key from the passphrase.

            A change is durable when the command ends. Any number of processes may use a vault at once.
            """
        ),
        (
            "ITEM NAMES",
            """
            NAME is the service or the server of an item, else its title: the label, or SERVICE (ACCOUNT) without one.
            'get', 'show', 'copy', 'otp', 'browse' and 'history' also take a host, or a URL. Generic and internet
            passwords are looked up alike, in the group 'default' first, and only if there is none of that name in the
            other groups, without those of sandboxed applications. ACCOUNT, --class, --group and --id choose among
            several items; without that, the command lists them and ends with 12.

            'vault set' changes the item that 'vault get' prints. A reference vault://SERVICE/ACCOUNT, and a helper of
            another program, mean the service or the server alone, since programs and imports choose the titles.
            """
        ),
        (
            "UNLOCKING",
            """
            A command asks the agent. If the agent is locked, or not running, the command uses the first of these:

              --passphrase-file FILE or --passphrase-fd NUMBER, --key-file FILE, both, --recovery-code-file FILE,
                or --fido2
              $VAULT_PASSPHRASE_FILE
              the systemd credential vault.passphrase
              $VAULT_KEY_FILE
              the machine's own secret, if no agent is running: 'vault slot add tpm2', or the key file
              ~/.config/vault/default.key
              a prompt at the terminal

            Without any of them, the command ends with 4 at once. A passphrase is never an argument or a variable.
            'vault slot list' lists what opens a vault. After a leak, use 'vault rekey'.

            A FIDO2 security key ('vault slot add fido2') is asked with --fido2, or after an empty passphrase, and never
            by a command that has no person to touch it. The user must be allowed to open the key's device,
            /dev/hidraw…: systemd allows it to the person who sits at the machine.
            """
        ),
        (
            "THE AGENT",
            """
            'vault unlock' asks for the passphrase once and starts the agent, which keeps the vault open for the
            processes of its user. The keys never leave the agent. The agent locks after 10 idle minutes, 8 hours after
            the unlock, on 'vault lock', on SIGHUP, on suspend and when the session is locked. Items that are readable
            after the first unlock stay readable until the agent ends. Items that are readable while unlocked, which
            is the default, do not.

            Under systemd: systemctl --user enable --now vault-agent.socket
            """
        ),
        (
            "COPIES AND OLDER STATES",
            """
            'vault backup' writes a checked copy of a vault in use, and 'vault restore' replaces the vault with a copy.
            A device remembers the newest state that it has seen. If the vault file was replaced with an older one in
            another way, commands end with 22, and 'vault verify --accept-older' accepts the file. 'vault salvage'
            recovers the intact items of a damaged file.

            A vault keeps the last five versions of an item, and deleted items: 'vault undo', 'vault restore-item'.
            'vault init --history N' and 'vault history --keep N' keep more, fewer or none.
            """
        ),
        (
            "MANY DEVICES",
            """
            A fleet is a group of devices that share the items of a vault. Each device has a vault file and a passphrase
            of its own, and works without the others. The devices exchange changes through a remote: a folder, a
            server that is reached by ssh, PostgreSQL or etcd.

              vault remote add file:///srv/share           on the first device: founds the fleet, prints a recovery code
              vault remote add file:///srv/share --join    on another device: prints a code, and waits
              vault device approve                         on the first device: takes that code
              vault sync                                   on each device, to publish its changes and get the others'

            A sync loses nothing. Of two edits of one field, and of two items that were added with one key, the newer
            one becomes current, and the other one is kept until a person chooses: 'vault sync' prints the number of
            these conflicts, and 'vault conflicts' lists them with values, devices and times. An edit keeps an item
            that another device has deleted. Items that are bound to this device are never published.

            The operator of the remote can read nothing, and the devices notice every change. Records that were removed
            from the remote return with the next sync of a device that has them. If the operator shows two halves of a
            fleet different states, only people notice, by comparing 'vault sync --fingerprint'; a second remote helps.

            If a device is lost, use 'vault device remove NAME' on an owner's device, and change the secrets that it
            lists; 'vault device secrets NAME' lists the secrets that are still to be changed. The lost device keeps the
            secrets that it has. If all devices are lost, the recovery code admits a new one. If the code is lost,
            'vault remote recovery-code --new' makes another one.
            """
        ),
        (
            "IMPORT AND EXPORT",
            """
            'vault import FORMAT' imports the secrets of another product: a database of KeePassXC, exports of Bitwarden,
            1Password, Aegis and browsers, the format in which products exchange credentials (CXF), a store of pass,
            the keyring of the session, and secrets that programs store in clear text. A second run adds nothing,
            imports the changes made there, and reports items that were changed on both sides. 'vault export FORMAT'
            exports, after a question. 'vault help import' lists the formats.

            With the PAM module pam_vault, the login unlocks a vault that has the login's password as its passphrase.
            """
        ),
        (
            "DOORS",
            """
            'vault doors enable secret-service' makes programs of the desktop store their secrets in the vault instead
            of gnome-keyring or KWallet, and 'vault doors enable portal' does the same for Flatpak applications. Run
            'vault import secret-service' first. 'vault doors enable browser' gives logins to the extension
            KeePassXC-Browser; 'vault browser' lists the browsers that were admitted. 'vault ssh-add' stores ssh keys in
            the vault, and 'vault doors enable ssh' lets ssh sign with them. 'vault doors disable' undoes the changes,
            and 'vault doors status' shows which programs serve. Run 'vault doors disable --all' before you remove the
            command; without it, the bus starts the keyring of another package.

            Under systemd, the bus starts vault-doors.service, and elsewhere the command itself. Units use
            vault-credentials.socket: LoadCredential=ID:%t/vault/credentials.sock gives a unit the secret of the access
            group systemd, the service UNIT and the account ID.
            """
        ),
        (
            "OTHER PROGRAMS",
            """
            Other programs start links to the command: git-credential-vault ('git config credential.helper vault'),
            docker-credential-vault ("credsStore": "vault") and cargo-credential-vault. 'vault credential aws' and
            'vault credential kubernetes' print credentials in the form that these clouds' tools read. While the vault
            is locked, the user is asked for the passphrase, at the terminal or by pinentry.
            """
        ),
        (
            "REFERENCES",
            """
            vault://SERVICE/ACCOUNT names a secret, vault://SERVICE/ACCOUNT/NAME a field of the item, else an attribute;
            special characters are percent-encoded. 'vault run', 'vault inject' and 'vault read' replace a reference
            with the value that it names.
            """
        ),
        (
            "POLICY",
            """
            ~/.config/vault/policy.json has the rules for programs that use the agent. The first rule that matches a
            client applies; a client without a rule may do everything. A rule names an executable (of the client or of
            one of its ancestors), a systemd unit, a control group (with those below it) or a Flatpak application, and
            grants access (full, inject-only or none) and access groups. The executable of a script is its interpreter:
            for a rule of its own, start the script in a unit, such as assistant.scope by 'systemd-run --user --scope
            --unit=assistant FILE'.

              {
                // a program that uses secrets, and keeps them out of its output
                "rules": [
                  { "executable": "/usr/bin/robot", "access": "inject-only", "groups": ["ci"] },
                  { "flatpak": "org.example.App", "groups": ["org.example.App"] }
                ]
              }

            A client with inject-only access can list attributes, and use 'vault run', whose output is masked, and
            'vault inject -o'. The agent refuses all its other requests. That keeps secrets out of logs and transcripts.
            A program that wants to see one can: it chooses the file that is written and the command that runs. A rule
            guards against mistakes, not against a hostile process of the same user.
            """
        ),
    ]

    private static let variables = [
        ("VAULT_FILE", "The vault file. The default is ~/.local/share/vault/default.vault."),
        ("VAULT_PASSPHRASE_FILE", "A file with the passphrase."),
        ("VAULT_KEY_FILE", "A key file, which unlocks the vault alone or with the passphrase."),
        (
            "VAULT_TPM2_DEVICE",
            """
            The TPM2 chip, as systemd-creds(1) names it: a device, or swtpm:, tabrmd:, mssim: or device: and a path.
            """
        ),
        (
            "VAULT_ACCESS_GROUPS",
            """
            The access groups of a program, separated by commas; it adds items to the first. Without the variable, a \
            program has its own group, and this command sees all groups.
            """
        ),
        (
            "VAULT_PINENTRY",
            """
            The program that asks for the passphrase where there is no terminal. The default is pinentry. It asks at \
            DISPLAY, WAYLAND_DISPLAY or GPG_TTY.
            """
        ),
        (
            "VAULT_AGENT_SOCK",
            """
            The socket of the agent. The default is $XDG_RUNTIME_DIR/vault/agent.sock; without that variable, \
            /run/user/UID/vault/agent.sock, if that directory is the user's alone.
            """
        ),
        (
            "XDG_DATA_HOME, XDG_STATE_HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR",
            "The directories of the files below, instead of those in the home directory."
        ),
        ("NO_COLOR", "Has no effect, since the output has no colours."),
    ]

    private static let files = [
        ("~/.local/share/vault/default.vault", "The vault."),
        (
            "~/.local/state/vault/",
            """
            The secret of this device, its record of the newest states of vaults, and the logs of 'vault agent --audit'.
            """
        ),
        (
            "~/.local/state/vault/REALM.mirror/",
            "The sealed records of a fleet's devices. A remote that has lost records gets them from here."
        ),
        ("~/.local/state/vault/ssh-order", "The ssh keys that hosts have accepted, as hashes."),
        ("~/.local/state/vault/doors/changes.json", "The changes of 'vault doors enable', and the previous contents."),
        ("~/.config/vault/policy.json", "The rules of the agent."),
        ("$XDG_RUNTIME_DIR/vault/agent.sock", "The socket of the agent."),
    ]
}

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
            account and access group), further attributes, and a secret. Nothing of them can be read without the key,
            and nothing can be changed unnoticed. The key comes from the passphrase with Argon2id.

            A change is durable when the command ends. Any number of processes may use a vault at once.
            """
        ),
        (
            "UNLOCKING",
            """
            A command asks the agent. If that is locked, or there is none, it takes the first of these:

              --passphrase-file FILE or --passphrase-fd NUMBER, --key-file FILE, both, or --recovery-code-file FILE
              $VAULT_PASSPHRASE_FILE
              the systemd credential vault.passphrase
              $VAULT_KEY_FILE
              what this machine keeps, where no agent is running: 'vault slot add tpm2', or the key file
              ~/.config/vault/default.key
              a prompt at the terminal

            Without any of them it ends with 4 at once. A passphrase is never an argument, nor a variable.
            'vault slot list' says what opens a vault. After a leak: 'vault rekey'.
            """
        ),
        (
            "THE AGENT",
            """
            'vault unlock' asks for the passphrase once and starts the agent, which keeps the vault open for the
            processes of its user. The keys never leave it. It locks without use for 10 minutes, 8 hours after the
            unlock, with 'vault lock', on SIGHUP, before the machine sleeps and when the session is locked. Items that
            are readable after the first unlock stay so until the agent ends; those that are readable while unlocked,
            which is the default, do not.

            Under systemd: systemctl --user enable --now vault-agent.socket
            """
        ),
        (
            "COPIES AND OLDER STATES",
            """
            'vault backup' writes a checked copy of a vault in use, 'vault restore' puts one in its place. A device
            remembers the newest state that it has seen: a vault file that was put back otherwise ends commands with 22,
            and 'vault verify --accept-older' accepts it. 'vault salvage' takes what is whole of a damaged file.

            A vault keeps the last five versions of an item, and deleted items: 'vault undo', 'vault restore-item'.
            'vault init --history N' and 'vault history --keep N' keep more, fewer or none.
            """
        ),
        (
            "MANY DEVICES",
            """
            A fleet is several devices with one vault in common. Each has a vault file and a passphrase of its own, and
            works without the others. They tell each other what changed through a remote, a folder that all of them
            reach:

              vault remote add file:///srv/share           on the first one: founds the fleet, prints a recovery code
              vault remote add file:///srv/share --join    on another one: prints a code, and waits
              vault device approve                         on the first one: takes that code
              vault sync                                   on each, whenever something is to be told or heard

            A sync loses nothing. Of two edits of one field, and of two items that were added with one key, the newer
            one counts, and the other one is kept until a person chooses: 'vault sync' says how many such conflicts
            there are, and 'vault conflicts' lists them with values, devices and times. An edit keeps an item from a
            deletion elsewhere. Items that are bound to
            this device are never told of.

            Who runs the remote can read nothing, and change nothing that the devices do not notice. Records that were
            taken away come back at the next sync of a device that has them. Two halves of a fleet that are never shown
            each other are noticed by people alone, who compare 'vault sync --fingerprint'; a second remote helps.

            A lost device: 'vault device remove NAME' on an owner's, then change the secrets that it lists; 'vault
            device secrets NAME' lists what is left. The lost device keeps what it has read. All devices lost: the
            recovery code lets a new one in. A lost code: 'vault remote recovery-code --new' makes another one.
            """
        ),
        (
            "MOVING IN AND OUT",
            """
            'vault import FORMAT' brings in what another product keeps: a database of KeePassXC, exports of Bitwarden,
            1Password, Aegis and browsers, a store of pass, the keyring of the session, files that programs keep in
            clear. A second run adds nothing, takes over what changed there, and says what changed on both sides.
            'vault export FORMAT' goes the other way, after a question. 'vault help import' lists the formats.

            With the PAM module pam_vault a vault whose passphrase is the login's password is open after the login.
            """
        ),
        (
            "DOORS",
            """
            'vault doors enable secret-service' makes programs of the desktop keep their secrets in the vault, in the
            place of gnome-keyring or KWallet, and 'vault doors enable portal' does the same for Flatpak applications.
            'vault import secret-service' goes before it. 'vault doors enable browser' gives logins to the extension
            KeePassXC-Browser; 'vault browser' lists the browsers that were let in. 'vault ssh-add' keeps ssh keys in
            the vault, and 'vault doors enable ssh' has ssh sign with them. 'vault doors disable' takes back what was
            changed, and 'vault doors status' says who serves.

            Under systemd the bus starts vault-doors.service, elsewhere the command itself. vault-credentials.socket is
            for units: LoadCredential=ID:%t/vault/credentials.sock gives one the secret of the access group systemd,
            the service UNIT and the account ID.
            """
        ),
        (
            "OTHER PROGRAMS",
            """
            Links to the command that others start: git-credential-vault ('git config credential.helper vault'),
            docker-credential-vault ("credsStore": "vault"), cargo-credential-vault. 'vault credential aws' and 'vault
            credential kubernetes' print what the tools of clouds want. While the vault is locked a person is asked, at
            the terminal or by pinentry.
            """
        ),
        (
            "REFERENCES",
            """
            vault://SERVICE/ACCOUNT names a secret, vault://SERVICE/ACCOUNT/NAME a field of the item, else an attribute;
            special characters are percent-encoded. 'vault run', 'vault inject' and 'vault read' put what it names in
            its place.
            """
        ),
        (
            "POLICY",
            """
            ~/.config/vault/policy.json says what programs may ask of the agent. Of its rules the first that fits a
            client is the one that counts; without one everything is allowed. A rule names an executable (the client or
            a process that it descends from), a systemd unit, a control group (and those below) or a Flatpak
            application, and grants access (full, inject-only or none) and access groups. An executable is a program: a
            script is known by its interpreter, and is started in a unit for a rule, such as assistant.scope by
            'systemd-run --user --scope --unit=assistant FILE'.

              {
                // a program that may use secrets and not see them
                "rules": [
                  { "executable": "/usr/bin/robot", "access": "inject-only", "groups": ["ci"] },
                  { "flatpak": "org.example.App", "groups": ["org.example.App"] }
                ]
              }

            A client that may only inject can list attributes, 'vault run', whose output is masked, and
            'vault inject -o'. The agent refuses it everything else. A rule guards against mistakes, not against a
            hostile process of the same user.
            """
        ),
    ]

    private static let variables = [
        ("VAULT_FILE", "The vault; else ~/.local/share/vault/default.vault."),
        ("VAULT_PASSPHRASE_FILE", "A file with the passphrase."),
        ("VAULT_KEY_FILE", "A key file, which opens the vault alone or with the passphrase."),
        (
            "VAULT_TPM2_DEVICE",
            """
            The TPM2 chip to ask, as systemd-creds(1) names it: a device, or swtpm:, tabrmd:, mssim:, device: and a \
            place.
            """
        ),
        (
            "VAULT_ACCESS_GROUPS",
            """
            The access groups of a program, parted by commas; the first is where it adds. Without it a program has its \
            own, and this command sees all.
            """
        ),
        (
            "VAULT_PINENTRY",
            """
            The program by which vault unlock asks where there is no terminal; else pinentry. DISPLAY, WAYLAND_DISPLAY \
            and GPG_TTY say where a person is.
            """
        ),
        ("VAULT_AGENT_SOCK", "The socket of the agent; else $XDG_RUNTIME_DIR/vault/agent.sock."),
        (
            "XDG_DATA_HOME, XDG_STATE_HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR",
            "Where the files below are, instead of in the home directory."
        ),
        ("NO_COLOR", "Is honoured, since nothing is coloured."),
    ]

    private static let files = [
        ("~/.local/share/vault/default.vault", "The vault."),
        (
            "~/.local/state/vault/",
            """
            The secret of this device, what it remembers of the newest state of vaults, and the logs of 'vault agent \
            --audit'.
            """
        ),
        (
            "~/.local/state/vault/REALM.mirror/",
            "What the devices of a fleet have told each other, sealed: remotes that lost some of it get it from here."
        ),
        ("~/.local/state/vault/doors/changes.json", "What 'vault doors enable' changed, and what was there before."),
        ("~/.config/vault/policy.json", "The rules of the agent."),
        ("$XDG_RUNTIME_DIR/vault/agent.sock", "The socket of the agent."),
    ]
}

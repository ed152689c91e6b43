// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage

extension Door {
    static let ssh: Door = Door(
        name: "ssh", purpose: "the protocol of ssh-agent",
        effect: """
            systemd listens at $XDG_RUNTIME_DIR/vault/ssh.sock and starts 'vault doors' for the first client, and \
            later sessions have this path in $SSH_AUTH_SOCK.
            """,
        reach: .socket(path: "vault/ssh.sock", unit: "vault-ssh"),
        refusalForAll: ("ssh keys are each user's own", hint: "ssh without --system"), hasEditableFiles: true,
        advice: "in sessions that run already: export SSH_AUTH_SOCK=\"$XDG_RUNTIME_DIR/vault/ssh.sock\"",
        changes: { places, _ in places.sshUnits }, recognizes: { $0.hasPrefix(DoorPlaces.sshMark) })
}

extension DoorPlaces {
    /// The first line of each of these files.
    fileprivate static let sshMark =
        "# 'vault doors enable ssh' has written this, and 'vault doors disable ssh' removes it.\n"

    /// The units by which systemd listens, and starts the door for the first client.
    fileprivate var sshUnits: [DoorChange] {
        guard let configuration, let userUnits else { return [] }
        let socket = """
            [Unit]
            Description=Socket of the vault's agent for ssh
            Documentation=man:vault(1)
            # Without the command, ssh is to find no agent at all, rather than one that never answers.
            ConditionFileIsExecutable=\(command.replacing("%", with: "%%"))

            [Socket]
            ListenStream=%t/vault/ssh.sock
            SocketMode=0600
            DirectoryMode=0700

            [Install]
            WantedBy=sockets.target

            """
        let service = """
            [Unit]
            Description=Vault's agent for ssh
            Documentation=man:vault(1)
            Requires=vault-ssh.socket

            [Service]
            # With --ssh-store the vault keeps what 'ssh-add' adds: 'systemctl --user edit vault-ssh.service'.
            ExecStart=\(UserUnits.word(command)) doors --ssh %t/vault/ssh.sock
            UMask=0077
            # What the program that asks for the passphrase needs to show a window, in the user's language.
            PassEnvironment=DISPLAY WAYLAND_DISPLAY XAUTHORITY LANG LC_ALL LC_CTYPE
            LimitMEMLOCK=64M
            LimitCORE=0
            MemorySwapMax=0
            NoNewPrivileges=yes
            RestrictAddressFamilies=AF_UNIX
            RestrictNamespaces=yes
            RestrictRealtime=yes
            RestrictSUIDSGID=yes
            LockPersonality=yes
            SystemCallArchitectures=native

            """
        let environment = "SSH_AUTH_SOCK=${XDG_RUNTIME_DIR}/vault/ssh.sock\n"
        return [
            DoorChange(
                path: userUnits.appending("vault-ssh.service"), kind: .file(DoorPlaces.sshMark + service)),
            DoorChange(path: userUnits.appending("vault-ssh.socket"), kind: .file(DoorPlaces.sshMark + socket)),
            DoorChange(
                path: userUnits.appending("sockets.target.wants").appending("vault-ssh.socket"),
                kind: .link(to: "../vault-ssh.socket")),
            DoorChange(
                path: configuration.appending("environment.d").appending("60-vault-ssh.conf"),
                kind: .file(DoorPlaces.sshMark + environment)),
        ]
    }
}

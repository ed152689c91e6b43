// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultFormat

extension DoorPlaces {
    /// The first line of each of these files.
    static let sshMark = "# 'vault doors enable ssh' has written this, and 'vault doors disable ssh' removes it.\n"

    private var userUnits: FilePath? { configuration?.appending("systemd/user") }

    var sshSocketUnit: FilePath? { userUnits?.appending("\(SSHUnits.name).socket") }

    /// The units by which systemd listens, and starts the door for the first client.
    var sshUnits: [DoorChange] {
        guard let configuration, let userUnits, let sshSocketUnit else { return [] }
        let socket = """
            [Unit]
            Description=Socket of the vault's agent for ssh
            Documentation=man:vault(1)

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
            Requires=\(SSHUnits.name).socket

            [Service]
            # With --ssh-store the vault keeps what 'ssh-add' adds: 'systemctl --user edit \(SSHUnits.name).service'.
            ExecStart=\(DoorPlaces.unitWord(command)) doors --ssh %t/vault/ssh.sock
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
                path: userUnits.appending("\(SSHUnits.name).service"), kind: .file(DoorPlaces.sshMark + service)),
            DoorChange(path: sshSocketUnit, kind: .file(DoorPlaces.sshMark + socket)),
            DoorChange(
                path: userUnits.appending("sockets.target.wants").appending("\(SSHUnits.name).socket"),
                kind: .link(to: "../\(SSHUnits.name).socket")),
            DoorChange(
                path: configuration.appending("environment.d").appending("60-\(SSHUnits.name).conf"),
                kind: .file(DoorPlaces.sshMark + environment)),
        ]
    }

    /// Quotes a path for a unit: one word, without specifiers.
    static func unitWord(_ path: String) -> String {
        var word = ""
        for character in path.unicodeScalars {
            switch character {
            case "%", "$": word += "\(character)\(character)"
            case "\\", "\"": word += "\\\(character)"
            case "\n": word += "\\n"
            default: word.unicodeScalars.append(character)
            }
        }
        return "\"\(word)\""
    }
}

/// The units of the ssh door, in the user's systemd manager.
enum SSHUnits {
    static let name = "vault-ssh"

    /// Returns `$XDG_RUNTIME_DIR/vault/ssh.sock` if it is open, else `nil`. Does not connect, since systemd would start
    /// the door.
    static var openSocket: String? {
        guard let runtime = ProcessEnvironment.variable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") else { return nil }
        let path = FilePath(runtime).appending("vault/ssh.sock").string
        // The kernel's table may omit lines if sockets come and go while it is read.
        return (0..<4).contains { _ in isListed(path) } ? path : nil
    }

    private static func isListed(_ path: String) -> Bool {
        guard let file = try? unsafe FileDescriptor.open("/proc/net/unix", .readOnly) else { return false }
        defer { try? file.close() }
        var table: [UInt8] = []
        // Foundation treats the first page of a file without a size as the whole file.
        try? SecretReader.parts(of: file.rawValue) { table.append($0) }
        return table.split(separator: UInt8(ascii: "\n")).contains { line in
            let fields = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 7)
            // The flag of a listening socket.
            return fields.count == 8 && fields[3] == "00010000" && fields[7] == path
        }
    }

    static func start() { tell("start", ["\(name).socket"]) }

    static func stop() { tell("stop", ["\(name).socket", "\(name).service"]) }

    private static func tell(_ verb: String, _ units: [String]) {
        guard let runtime = ProcessEnvironment.variable("XDG_RUNTIME_DIR"),
            FileManager.default.fileExists(atPath: runtime + "/systemd/private")
        else { return }
        // A hanging manager must not block this command.
        _ = try? Helper(["timeout", "10", "systemctl", "--user", verb] + units).converse(nil) { _ in }
    }
}

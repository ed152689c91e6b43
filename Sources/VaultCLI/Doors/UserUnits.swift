// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultFormat
internal import VaultSystem

/// The user's systemd manager, and the sockets at which its units listen.
enum UserUnits {
    /// Quotes a path for a unit: one word, without specifiers.
    static func word(_ path: String) -> String {
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

    /// Returns the path of a socket below `$XDG_RUNTIME_DIR` if it is open, else `nil`. Does not connect, since systemd
    /// would start the door.
    static func openSocket(_ name: String) -> String? {
        guard let runtime = RuntimeDirectory.ofProcess else { return nil }
        let path = runtime.appending(FilePath(name).components).string
        // The kernel's table may omit lines if sockets come and go while it is read.
        return (0..<4).contains { _ in isListed(path) } ? path : nil
    }

    private static func isListed(_ path: String) -> Bool {
        // Foundation treats the first page of a file without a size as the whole file.
        guard let file = try? Descriptor(opening: "/proc/net/unix", O_RDONLY),
            let table = try? file.readAll(most: .max)
        else { return false }
        return table.split(separator: UInt8(ascii: "\n")).contains { line in
            let fields = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 7)
            // The flag of a listening socket.
            return fields.count == 8 && fields[3] == "00010000" && fields[7] == path
        }
    }

    /// Makes the manager read the files of units again.
    static func reload() { tell("daemon-reload") }

    static func start(_ unit: String) { tell("start", ["\(unit).socket"]) }

    static func stop(_ unit: String) { tell("stop", ["\(unit).socket", "\(unit).service"]) }

    private static func tell(_ verb: String, _ units: [String] = []) {
        guard let runtime = ProcessEnvironment.variable("XDG_RUNTIME_DIR"),
            FileManager.default.fileExists(atPath: runtime + "/systemd/private")
        else { return }
        // A hanging manager must not block this command.
        _ = try? Helper(["timeout", "10", "systemctl", "--user", verb] + units).converse(nil) { _ in }
    }
}

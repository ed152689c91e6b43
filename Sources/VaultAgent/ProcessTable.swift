// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

/// What /proc says of processes. It is information and no proof.
package enum ProcessTable {
    package static func executable(of id: Int32) -> String? {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/exe") else {
            return nil
        }
        // It was upgraded under the process.
        return path.hasSuffix(" (deleted)") ? String(path.dropLast(10)) : path
    }

    package static func parent(of id: Int32) -> Int32? { field(4, of: id).flatMap { Int32($0) } }

    /// When the process began, in clock ticks from the start of the machine.
    package static func startTime(of id: Int32) -> UInt64? { field(22, of: id).flatMap { UInt64($0) } }

    /// A field of stat, of which the second is a name that may have any bytes in it; the kernel cuts it in the middle
    /// of a character.
    private static func field(_ number: Int, of id: Int32) -> String? {
        guard let line = FileManager.default.contents(atPath: "/proc/\(id)/stat"),
            let name = line.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = line[line.index(after: name)...].split(separator: UInt8(ascii: " "))
        return fields.count > number - 3 ? String(decoding: fields[number - 3], as: UTF8.self) : nil
    }

    /// The effective user, whom the kernel names as the peer of a socket too.
    package static func user(of id: Int32) -> UInt32? {
        let line = read("/proc/\(id)/status")?.split(separator: "\n").first { $0.hasPrefix("Uid:") }
        guard let fields = line?.split(separator: "\t"), fields.count > 2 else { return nil }
        return UInt32(fields[2])
    }

    package static func cgroup(of id: Int32) -> String? {
        read("/proc/\(id)/cgroup")?.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
    }

    /// Whether a program that the process starts may have privileges that it has not itself: PR_SET_NO_NEW_PRIVS takes
    /// that from a process, and all that descend from it, for good. Nil: that cannot be told.
    static func canGainPrivileges(_ id: Int32) -> Bool? {
        let line = read("/proc/\(id)/status")?.split(separator: "\n").first { $0.hasPrefix("NoNewPrivs:") }
        return line.map { $0.hasSuffix("\t0") }
    }

    /// The application in the name of a scope that Flatpak makes: `app-flatpak-ID-NUMBER.scope`, where systemd's escape
    /// stands for a hyphen of the application's.
    package static func flatpak(inUnit unit: String) -> String? {
        let prefix = "app-flatpak-"
        guard unit.hasPrefix(prefix), let end = unit.lastIndex(of: "-") else { return nil }
        return String(
            unit[
                unit.index(
                    unit.startIndex, offsetBy: prefix.count)..<max(
                        end, unit.index(unit.startIndex, offsetBy: prefix.count))]
        ).replacing("\\x2d", with: "-")
    }

    private static func read(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether a text can be an application's identifier. As an access group `*` would be every group, `default` the
    /// user's own, and nothing stands for a sandbox of which nothing is known.
    package static func isApplication(_ text: String) -> Bool {
        text.contains(".")
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// The systemd unit, from the name of the control group: the last part of it that is a service or a scope.
    package static func unit(inCgroup cgroup: String) -> String? {
        cgroup.split(separator: "/").last { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }.map(String.init)
    }

    /// The name that a process shows itself by, of at most 15 bytes.
    package static func name(of id: Int32) -> String? { read("/proc/\(id)/comm").map { $0.filter { $0 != "\n" } } }
}

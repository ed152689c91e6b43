// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import VaultFormat

/// Information about processes from /proc. Nothing in it is proven.
package enum ProcessTable {
    package static func executable(of id: Int32) -> String? {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/exe") else {
            return nil
        }
        // The file was replaced by an upgrade.
        return path.hasSuffix(" (deleted)") ? String(path.dropLast(10)) : path
    }

    package static func parent(of id: Int32) -> Int32? { field(4, of: id).flatMap { Int32($0) } }

    /// Returns the start time of a process, in clock ticks since the start of the machine.
    package static func startTime(of id: Int32) -> UInt64? { field(22, of: id).flatMap { UInt64($0) } }

    /// Returns the time since the start of a process; `nil` if it has ended.
    package static func age(of id: Int32) -> Duration? {
        // The kernel counts clock ticks since the same moment as this clock.
        startTime(of: id).map { start in
            let ticks = Int64(clamping: start) &* 1000
            return ContinuousClock.now - ContinuousClock().systemEpoch
                - .milliseconds(ticks / Int64(sysconf(Int32(_SC_CLK_TCK))))
        }
    }

    /// Returns a field of stat. The second field is a name with arbitrary bytes, which the kernel may cut inside a
    /// character.
    private static func field(_ number: Int, of id: Int32) -> String? {
        guard let line = FileManager.default.contents(atPath: "/proc/\(id)/stat"),
            let name = line.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = line[line.index(after: name)...].split(separator: UInt8(ascii: " "))
        return fields.count > number - 3 ? String(decoding: fields[number - 3], as: UTF8.self) : nil
    }

    /// Returns the effective user, who is also the user of a socket's peer.
    package static func user(of id: Int32) -> UInt32? {
        let line = read("/proc/\(id)/status")?.split(separator: "\n").first { $0.hasPrefix("Uid:") }
        guard let fields = line?.split(separator: "\t"), fields.count > 2 else { return nil }
        return UInt32(fields[2])
    }

    package static func cgroup(of id: Int32) -> String? {
        read("/proc/\(id)/cgroup")?.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
    }

    /// Returns whether the process can start programs with more privileges than its own: PR_SET_NO_NEW_PRIVS prevents
    /// this permanently for a process and all its descendants. `nil` if unknown.
    static func canGainPrivileges(_ id: Int32) -> Bool? {
        let line = read("/proc/\(id)/status")?.split(separator: "\n").first { $0.hasPrefix("NoNewPrivs:") }
        return line.map { $0.hasSuffix("\t0") }
    }

    /// Returns the application in the name of a scope that Flatpak makes: `app-flatpak-ID-NUMBER.scope`, with systemd's
    /// escapes for hyphens in the identifier.
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

    /// Returns the systemd unit of a process; `nil` if it has none.
    package static func unit(of id: Int32) -> String? { cgroup(of: id).flatMap(unit(inCgroup:)) }

    /// Returns the systemd unit: the last service or scope in the name of the control group.
    package static func unit(inCgroup cgroup: String) -> String? {
        cgroup.pathComponents().last { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
    }

    /// Returns the name that a process has given itself, at most 15 bytes.
    package static func name(of id: Int32) -> String? { read("/proc/\(id)/comm").map { $0.filter { $0 != "\n" } } }
}

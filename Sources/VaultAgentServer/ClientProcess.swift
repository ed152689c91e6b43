// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import FoundationEssentials
internal import Glibc

/// The process at the other end of a connection, as the kernel tells of it.
///
/// It is information and no proof: a process of the same user can have any name, and start any program in its place.
struct ClientProcess: Sendable {
    var id: Int32
    var user: UInt32
    /// Nil: it may not be looked at, as `vault` itself may not.
    var executable: String?
    /// The programs of the processes that it descends from, the nearest first.
    var ancestors: [String] = []
    /// Its control group, in the unified hierarchy.
    var cgroup: String?
    /// The application that a Flatpak sandbox was made for.
    var flatpak: String?
    /// Whether nothing can be said of it: it has ended, and its number may be another's.
    var isUnknown = false

    /// In the place of a descriptor: the kernel says that the process has ended.
    static let ended: Int32 = -2

    init(id: Int32, user: UInt32) {
        self.id = id
        self.user = user
    }

    /// The agent itself.
    static var own: ClientProcess { ClientProcess(id: getpid(), user: geteuid()) }

    /// Looks at the process.
    ///
    /// - Parameter handle: a descriptor of the process; -1 where the kernel has none. When the process has ended, its
    ///   number may be another's already, and nothing is known of it.
    mutating func look(_ handle: Int32) {
        var looked = self
        looked.executable = ClientProcess.executable(of: id)
        looked.cgroup = ClientProcess.cgroup(of: id)
        looked.flatpak = ClientProcess.flatpak(of: id) ?? looked.unit.flatMap { ClientProcess.flatpak(inUnit: $0) }
        var parent = ClientProcess.parent(of: id)
        // Far more than a process has, so that a table that changes meanwhile leads nowhere for ever.
        while let next = parent, next > 0, looked.ancestors.count < 64 {
            looked.ancestors.append(ClientProcess.executable(of: next) ?? "")
            parent = ClientProcess.parent(of: next)
        }
        if handle == -1 || handle >= 0 && clinux_has_ended(handle, 0) == 0 { self = looked } else { isUnknown = true }
    }

    /// Whether its program cannot be told, nor that of the process that started it: an agent in a user namespace sees
    /// neither.
    var hidesItsProgram: Bool { executable == nil && (ancestors.first ?? "").isEmpty }

    /// The systemd unit, from the name of the control group: the last part of it that is a service or a scope.
    var unit: String? {
        cgroup?.split(separator: "/").last { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }.map(String.init)
    }

    private static func executable(of id: Int32) -> String? {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/exe") else {
            return nil
        }
        // It was upgraded under the process.
        return path.hasSuffix(" (deleted)") ? String(path.dropLast(10)) : path
    }

    /// The fourth field of stat, behind a name that may have any characters in it.
    private static func parent(of id: Int32) -> Int32? {
        guard let line = read("/proc/\(id)/stat"), let end = line.lastIndex(of: ")") else { return nil }
        let fields = line[line.index(after: end)...].split(separator: " ")
        return fields.count > 1 ? Int32(fields[1]) : nil
    }

    private static func cgroup(of id: Int32) -> String? {
        read("/proc/\(id)/cgroup")?.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
    }

    private static func flatpak(of id: Int32) -> String? {
        guard let file = read("/proc/\(id)/root/.flatpak-info") else { return nil }
        var section = Substring()
        for line in file.split(separator: "\n") {
            if line.hasPrefix("[") {
                section = line
            } else if section == "[Application]", line.hasPrefix("name=") {
                return String(line.dropFirst(5))
            }
        }
        // It says that there is a sandbox, and not which: no rule for an application is for it.
        return ""
    }

    /// The application in the name of a scope that Flatpak makes: `app-flatpak-ID-NUMBER.scope`.
    static func flatpak(inUnit unit: String) -> String? {
        let prefix = "app-flatpak-"
        guard unit.hasPrefix(prefix), let end = unit.lastIndex(of: "-") else { return nil }
        return String(
            unit[
                unit.index(
                    unit.startIndex, offsetBy: prefix.count)..<max(
                        end, unit.index(unit.startIndex, offsetBy: prefix.count))])
    }

    private static func read(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).flatMap { String(data: $0, encoding: .utf8) }
    }
}

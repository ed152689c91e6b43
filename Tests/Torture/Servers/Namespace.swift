// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A network namespace that acts as a separate machine, connected to the others by the trial's bridge.
struct Namespace: Sendable {
    let name: String
    /// The IPv4 address.
    let address: String

    static let server = Namespace(name: "server", address: "10.77.0.1")
    static func home(_ number: Int) -> Namespace {
        Namespace(name: "home\(number)", address: "10.77.\(1 + number / 250).\(1 + number % 250)")
    }

    private static let bridge = "fleet"
    private static let directory = "/run/netns"

    /// Returns the command line that runs another command line in a namespace.
    static func entering(_ name: String, _ line: [String]) -> [String] {
        ["/usr/bin/nsenter", "--net=\(directory)/\(name)", "--"] + line
    }

    /// Prepares the process's network and mounts, which no other process shares.
    static func prepare() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Tool.run(["mount", "-t", "tmpfs", "namespaces", directory])
        try Tool.run(["ip", "link", "set", "lo", "up"])
        try Tool.run(["ip", "link", "add", "name", bridge, "type", "bridge"])
        try Tool.run(["ip", "link", "set", bridge, "up"])
    }

    func make() throws {
        try Tool.run(["ip", "netns", "add", name])
        try Tool.run(["ip", "link", "add", "name", name, "type", "veth", "peer", "name", "eth0", "netns", name])
        for link in ["lo", "eth0"] { try Tool.run(["ip", "-n", name, "link", "set", link, "up"]) }
        try Tool.run(["ip", "-n", name, "address", "add", "\(address)/16", "dev", "eth0"])
        try Tool.run(["ip", "link", "set", name, "master", Self.bridge, "up"])
    }

    // MARK: Faults

    /// A network fault between a home and the server, or between the server and all homes.
    enum Fault: String, CaseIterable, Sendable {
        /// Drops all packets in both directions silently.
        case silent
        /// Rejects the home's packets as unroutable.
        case refused
        /// Drops only the packets from the server to the home.
        case deaf
        /// Limits the rate to 128 kbit/s.
        case slow
    }

    func begin(_ fault: Fault) throws {
        switch fault {
        case .silent: try Tool.run(["ip", "link", "set", name, "down"])
        case .refused: try Tool.run(["ip", "-n", name, "route", "add", "unreachable", Self.server.address + "/32"])
        case .deaf: try Tool.run(["ip", "-n", Self.server.name, "route", "add", "blackhole", address + "/32"])
        case .slow:
            try Tool.run(
                ["tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", "128kbit", "burst", "16kb", "latency", "1s"])
        }
    }

    func end(_ fault: Fault) throws {
        switch fault {
        case .silent: try Tool.run(["ip", "link", "set", name, "up"])
        case .refused: try Tool.run(["ip", "-n", name, "route", "del", "unreachable", Self.server.address + "/32"])
        case .deaf: try Tool.run(["ip", "-n", Self.server.name, "route", "del", "blackhole", address + "/32"])
        case .slow: try Tool.run(["tc", "qdisc", "del", "dev", name, "root"])
        }
    }

    // MARK: Seclusion

    /// Runs this program again in new network, mount and process namespaces, all of which end with the program.
    ///
    /// - Returns: only on failure, with the reason.
    static func seclude(_ arguments: [String]) throws -> String {
        guard geteuid() == 0 else { return "only root makes network namespaces" }
        let seclusion = [
            "unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child", "--propagation",
            "private",
        ]
        do { try Tool.run(seclusion + ["ip", "link", "add", "name", bridge, "type", "bridge"]) } catch {
            return "there are no network namespaces here: \(error)"
        }
        // The first process of a process namespace must reap all orphans, which a shell does.
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let line = ["env"] + seclusion + ["bash", "-c", #""$@"; exit $?"#, "bash", program] + arguments
        var texts = line.map { strdup($0) } + [nil]
        execv("/usr/bin/env", &texts)
        return "unshare: \(String(cString: strerror(errno)))"
    }
}

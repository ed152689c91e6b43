// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultBus

/// The bus of this session, which is asked and never made to start a program.
struct SessionBus {
    enum State: String, Encodable {
        /// Nothing says that there is one.
        case none
        case reachable
        case unreachable
        case silent
        /// libsystemd is missing.
        case noLibrary = "no-library"
    }

    /// The process that has a name.
    struct Owner: Encodable, Equatable {
        let pid: Int32
        /// Its executable, or what it calls itself where that may not be looked at. A process of the same user can call
        /// itself anything.
        let program: String?
        let isVault: Bool

        var text: String { "\(program?.printable ?? "an unknown program") (pid \(pid))" }
    }

    private(set) var state = State.none
    private(set) var owners: [Door: Owner] = [:]

    init(state: State, owners: [Door: Owner]) { (self.state, self.owners) = (state, owners) }

    /// Asks who has the names of the doors.
    init(patience: Duration = .seconds(2)) {
        guard SessionBus.isThere else { return }
        do throws(BusNames.Failure) {
            let names = try BusNames(patience: patience)
            state = .reachable
            for door in Door.allCases {
                guard let name = door.busName, let owner = try names.owner(of: name) else { continue }
                owners[door] = Owner(owner.process)
            }
        } catch {
            state =
                switch error {
                case .noLibrary: .noLibrary
                case .unreachable: .unreachable
                case .silent: .silent
                }
        }
    }

    /// Whether a variable or a socket says that there is a bus. An address that names a program would start that.
    private static var isThere: Bool {
        if let address = ProcessEnvironment.variable("DBUS_SESSION_BUS_ADDRESS") {
            return !address.contains("unixexec:")
        }
        guard let runtime = ProcessEnvironment.variable("XDG_RUNTIME_DIR") else { return false }
        return FileManager.default.fileExists(atPath: runtime + "/bus")
    }

    /// Why nobody knows who has a name; nil: it is known.
    var flaw: String? {
        switch state {
        case .none: "there is no session bus"
        case .reachable: nil
        case .unreachable: "the session bus cannot be reached"
        case .silent: "the session bus does not answer"
        case .noLibrary: "libsystemd is not there, so that the session bus cannot be asked"
        }
    }

    /// Tells the bus and systemd that files have changed; without them there is nothing to tell.
    static func reload() {
        if let runtime = ProcessEnvironment.variable("XDG_RUNTIME_DIR"),
            FileManager.default.fileExists(atPath: runtime + "/systemd/private")
        {
            // A manager that hangs is no reason to hang.
            let command = ["timeout", "10", "systemctl", "--user", "daemon-reload"]
            _ = try? Helper(command).converse(nil) { _ in }
        }
        guard isThere, let names = try? BusNames() else { return }
        try? names.reloadConfiguration()
    }
}

extension SessionBus.Owner {
    init(_ pid: Int32) {
        // Neither is there for a process of another name space, which the bus gives as 0.
        let words = (FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()).split(
            separator: 0, omittingEmptySubsequences: false
        ).map { String(decoding: $0, as: UTF8.self) }
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
        let executable = path.map { $0.hasSuffix(" (deleted)") ? String($0.dropLast(10)) : $0 }
        // Programs that keep secrets hide from others of their user, and their executables with them.
        let program = executable ?? words.first.flatMap { $0.isEmpty ? nil : $0 }
        let isVault = program?.split(separator: "/").last == "vault" && words.count > 1 && words[1] == "doors"
        self.init(pid: pid, program: program, isVault: isVault)
    }
}

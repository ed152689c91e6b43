// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultBus

/// The session bus, queried without starting any program.
struct SessionBus {
    enum State: String, Encodable {
        /// There is no sign of a bus.
        case none
        case reachable
        case unreachable
        case silent
        /// libsystemd is missing.
        case noLibrary = "no-library"
    }

    /// The process that owns a name.
    struct Owner: Encodable, Equatable {
        let pid: Int32
        /// The executable, or the name that the process gave itself if the executable is not accessible. A process of
        /// the same user can give itself any name.
        let program: String?
        let isVault: Bool

        var text: String { "\(program?.printable ?? "an unknown program") (pid \(pid))" }
    }

    private(set) var state = State.none
    private(set) var owners: [Door: Owner] = [:]

    init(state: State, owners: [Door: Owner]) { (self.state, self.owners) = (state, owners) }

    /// Looks up the owners of the doors' names.
    init(patience: Duration = .seconds(2)) {
        guard SessionBus.isThere else { return }
        do throws(BusError) {
            let names = try BusNames(patience: patience)
            state = .reachable
            for door in Door.onBus {
                guard let name = door.busName, let owner = try names.owner(of: name) else { continue }
                owners[door] = Owner(owner.process)
            }
        } catch {
            state =
                switch error {
                case .noLibrary: .noLibrary
                case .unreachable: .unreachable
                default: .silent
                }
        }
    }

    /// Whether a variable or a socket indicates a bus. Connecting to an address with a program would start that
    /// program.
    private static var isThere: Bool {
        if let address = ProcessEnvironment.variable("DBUS_SESSION_BUS_ADDRESS") {
            return !address.contains("unixexec:")
        }
        guard let runtime = ProcessEnvironment.variable("XDG_RUNTIME_DIR") else { return false }
        return FileManager.default.fileExists(atPath: runtime + "/bus")
    }

    /// The reason why the owners are unknown; `nil` if they are known.
    var flaw: String? {
        switch state {
        case .none: "there is no session bus"
        case .reachable: nil
        case .unreachable: "the session bus cannot be reached"
        case .silent: "the session bus does not answer"
        case .noLibrary: "libsystemd is not there, so that the session bus cannot be asked"
        }
    }

    /// Tells the bus and systemd, if they run, that files have changed.
    static func reload() {
        UserUnits.reload()
        guard isThere, let names = try? BusNames() else { return }
        try? names.reloadConfiguration()
    }
}

extension SessionBus.Owner {
    init(_ pid: Int32) {
        // Both are missing for a process of another namespace, whose number the bus reports as 0.
        let words = (FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()).split(
            separator: 0, omittingEmptySubsequences: false
        ).map { String(decoding: $0, as: UTF8.self) }
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")
        let executable = path.map { $0.hasSuffix(" (deleted)") ? String($0.dropLast(10)) : $0 }
        // Programs that protect secrets hide their executables from other processes of the user.
        let program = executable ?? words.first.flatMap { $0.isEmpty ? nil : $0 }
        let isVault = program?.split(separator: "/").last == "vault" && words.count > 1 && words[1] == "doors"
        self.init(pid: pid, program: program, isVault: isVault)
    }
}

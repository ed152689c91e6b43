// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import SystemPackage
internal import Vault
internal import VaultDoorKit

struct DoorsStatus: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which doors are enabled, and which programs serve their names.",
        discussion: """
            Starts no program: for a name without an owner, the bus starts the program when the name is called. Ends \
            with 0 without a bus as well.
            """)

    @OptionGroup var output: JSONOption

    func run() throws {
        let state = DoorsState()
        let pinentry = PinentryLook.ofProcess()
        guard output.json else {
            var lines = state.doors.flatMap { state.lines(of: $0) }
            if let flaw = state.bus.flaw { lines.append("bus             \(flaw)") }
            lines.append("pinentry        \(pinentry?.text ?? "none")")
            return try Output.write(lines.map { $0 + "\n" }.joined())
        }
        let doors = state.doors.map { Row($0) }
        try Output.json(Summary(bus: state.bus.state, doors: doors, pinentry: pinentry))
    }

    private struct Summary: Encodable {
        var bus: SessionBus.State
        var doors: [Row]
        var pinentry: PinentryLook?
    }

    private struct Row: Encodable {
        var name: String
        var enabled: Bool
        var busName: String?
        /// The door's socket, if open.
        var socket: String?
        var owner: SessionBus.Owner?
        var activation: DoorsState.Activation?
        /// The manifests by which clients find the door; `nil` for a door without.
        var manifests: [String]?

        init(_ door: DoorsState.Summary) {
            (name, enabled, busName, owner) = (door.kind.name, door.isEnabled, door.busName, door.owner)
            socket = door.socket
            activation = door.busName.flatMap(DoorsState.activation)
            manifests = DoorsState.manifests(of: door.kind)
        }
    }
}

/// The enabled doors, and the owners of their names.
struct DoorsState {
    struct Summary {
        let kind: Door
        let isEnabled: Bool
        /// The owner; `nil` if there is none, or it is unknown.
        let owner: SessionBus.Owner?

        /// The socket of an open door without a name on the bus.
        var socket: String?

        var busName: String? { kind.busName }

        /// The vault's process that serves the door, whether it was started by the bus, an agent or the user; `nil` if
        /// there is none, or it is unknown.
        var server: SessionBus.Owner? { owner.flatMap { $0.isVault ? $0 : nil } }

        /// Whether the door is enabled, or served by the vault.
        var isOpen: Bool { isEnabled || server != nil || socket != nil }
    }

    /// The program that the bus starts when a name is called.
    struct Activation: Encodable {
        var file: String
        var command: String
        /// The systemd unit that is started instead of the program.
        var unit: String?
    }

    let bus: SessionBus
    private let enabled: [Door]
    /// The open sockets.
    private let sockets: [Door: String]

    /// Inspects the doors of this process's user.
    init() {
        var sockets: [Door: String] = [:]
        for door in Door.all {
            if case .socket(let path, _) = door.reach { sockets[door] = UserUnits.openSocket(path) }
        }
        self.init(SessionBus(), enabled: DoorsState.enabledDoors, sockets: sockets)
    }

    init(_ bus: SessionBus, enabled: [Door], sockets: [Door: String] = [:]) {
        (self.bus, self.enabled, self.sockets) = (bus, enabled, sockets)
    }

    var doors: [Summary] { Door.all.map { self[$0] } }

    subscript(_ door: Door) -> Summary {
        Summary(
            kind: door, isEnabled: enabled.contains(door), owner: bus.owners[door],
            socket: sockets[door])
    }

    /// Describes whether the door is enabled, and whether it is served.
    func text(of door: Summary) -> String {
        guard door.busName != nil else {
            let state = door.isEnabled ? "enabled" : "not enabled"
            return door.socket.map { "\(state), open at \($0.printable)" } ?? state
        }
        let server = door.server.map { "the vault's doors (pid \($0.pid))" } ?? door.owner?.text
        let serving = server.map { ", served by \($0)" } ?? (bus.state == .reachable ? ", not served" : "")
        return (door.isEnabled ? "enabled" : "not enabled") + serving
    }

    func lines(of door: Summary) -> [String] {
        let label = (door.kind.name + "                ").prefix(16)
        var lines: [String] = [label + text(of: door)]
        lines += (DoorsState.manifests(of: door.kind) ?? []).map { "                started by \($0.printable)" }
        if let activation = door.busName.flatMap(DoorsState.activation) {
            lines.append("                started by \(activation.file.printable)")
            lines.append("                as \(activation.command.printable)")
        }
        return lines
    }

    /// The doors whose files exist, for this user or for all.
    private static var enabledDoors: [Door] {
        let user = try? DoorPlaces.ofUser()
        return Door.all.filter { door in
            let starters =
                switch door.reach {
                case .bus(let name): DoorPlaces.activation.map { $0.appending(Door.activationFile(of: name)) }
                case .socket, .manifests: user.map { door.starters(in: $0) } ?? []
                }
            return starters.contains(where: door.recognizesFile)
        }
    }

    /// Returns this user's manifests that refer to a vault; `nil` for a door without.
    static func manifests(of door: Door) -> [String]? {
        guard case .manifests = door.reach else { return nil }
        let all = (try? DoorPlaces.ofUser()).map { door.starters(in: $0) } ?? []
        return all.filter(door.recognizesFile).map(\.string)
    }

    /// Returns the file that the bus would use: the one for the name in the first directory with such a file, under any
    /// file name. Returns `nil` if there is none.
    static func activation(of name: String) -> Activation? {
        let group = "D-BUS Service"
        for directory in DoorPlaces.activation {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: directory.string)) ?? []
            for file in files.sorted() where file.hasSuffix(".service") {
                let path = directory.appending(file)
                guard let text = PathContent.behind(path), text.value(of: "Name", in: group) == name else { continue }
                return Activation(
                    file: path.string, command: DoorPlaces.command(in: text.value(of: "Exec", in: group) ?? ""),
                    unit: text.value(of: "SystemdService", in: group))
            }
        }
        return nil
    }
}

/// The program that would ask for a passphrase.
struct PinentryLook: Encodable {
    var program: String
    var flavor: String

    var text: String { "\(program.printable) (\(flavor.printable))" }

    static func ofProcess() -> PinentryLook? {
        let prompter = Prompter(
            PromptPlace(ProcessEnvironment.variable), program: ProcessEnvironment.variable("VAULT_PINENTRY"),
            patience: (answer: 2, command: 2))
        guard let found = prompter.look() else { return nil }
        return PinentryLook(program: path(of: found.program), flavor: found.flavor)
    }

    private static func path(of program: String) -> String {
        guard !program.contains("/") else { return program }
        let directories = (ProcessEnvironment.variable("PATH") ?? "/usr/bin:/bin").split(separator: ":")
        return directories.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
            ?? program
    }
}

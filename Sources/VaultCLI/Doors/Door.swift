// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage

/// A protocol by which the vault serves programs that do not know it.
///
/// Each door that 'vault doors enable' can set up is a value, in a file of its own. The commands go over the list, and
/// have no case for any door.
struct Door: Sendable {
    /// The list of the doors, in the order in which users see them.
    static let all: [Door] = [.secretService, .portal, .browser, .ssh]

    /// The way in which clients find the door.
    enum Reach: Sendable {
        /// Clients call a name on the session bus, which starts 'vault doors' with the option of the door's name.
        case bus(name: String)
        /// Clients connect to a socket below `$XDG_RUNTIME_DIR`, where a systemd user unit listens.
        case socket(path: String, unit: String)
        /// Each client starts the program that a file of its own names.
        case manifests
    }

    /// The name on command lines, in JSON and in the record of changes.
    let name: String
    /// The programs or the protocol that the door serves, for help.
    let purpose: String
    /// The effect of 'vault doors enable', as sentences for help.
    let effect: String
    let reach: Reach
    /// The refusal to enable the door for all users of the machine; `nil` if that is possible.
    var refusalForAll: (message: String, hint: String)?
    /// Whether keyrings of desktops serve the same name, so that 'vault doctor' reports its owner.
    var hasRivals = false
    /// Whether the bus may start the installed unit once the door is enabled. The unit serves every door on the bus, so
    /// for another door alone it would also take a name that its user has not enabled.
    var allowsUnit = false
    /// Whether users edit the door's files; an edited file is not overwritten.
    var hasEditableFiles = false
    /// The advice for sessions that run already.
    var advice: String?
    /// Returns the changes to files, in their order, in addition to the bus's.
    ///
    /// - Parameter enabled: the doors of this process, which serves all of them.
    let changes: @Sendable (_ places: DoorPlaces, _ enabled: Set<Door>) -> [DoorChange]
    /// Returns whether a vault has written a text for the door, wherever its command was.
    let recognizes: @Sendable (_ text: String) -> Bool
}

/// A door is its name: the list has each name once.
extension Door: Hashable, Encodable, ExpressibleByArgument {
    init?(argument: String) {
        guard let door = Door.all.first(where: { $0.name == argument }) else { return nil }
        self = door
    }

    static var allValueStrings: [String] { all.map(\.name) }

    static func == (first: Door, second: Door) -> Bool { first.name == second.name }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

extension Door {
    /// The name on the session bus; `nil` for a door that is reached in another way.
    var busName: String? {
        guard case .bus(let name) = reach else { return nil }
        return name
    }

    /// The files by which the bus, systemd or the clients start the door.
    func starters(in places: DoorPlaces) -> [FilePath] {
        switch reach {
        case .bus(let name): [places.data.appending("dbus-1/services").appending(Door.activationFile(of: name))]
        case .socket(_, let unit): [places.userUnits?.appending("\(unit).socket")].compactMap { $0 }
        case .manifests:
            changes(places, []).compactMap { change in
                guard case .manifest = change.kind else { return nil }
                return change.path
            }
        }
    }

    /// Returns whether a vault has written the content for the door.
    func recognizes(_ content: PathContent) -> Bool {
        guard case .file(let bytes, _) = content else { return false }
        return recognizes(String(decoding: bytes, as: UTF8.self))
    }

    /// Returns whether programs that read the path find a file that a vault has written for the door.
    func recognizesFile(at path: FilePath) -> Bool {
        PathContent.behind(path).map { recognizes(String(decoding: $0.bytes, as: UTF8.self)) } ?? false
    }
}

/// The doors that a process of 'vault doors' can open, each by its option.
struct DoorOptions: ParsableArguments {
    @Flag(help: "Serve org.freedesktop.secrets on the session bus.")
    var secretService = false

    @Flag(help: "Serve the portal's secrets for Flatpak applications on the session bus.")
    var portal = false

    @Option(
        help: ArgumentHelp(
            "Serve systemd's LoadCredential=ID:SOCKET at this socket, with the items of the access group systemd.",
            valueName: "socket"), completion: .file())
    var credentials: String?

    @Option(
        help: ArgumentHelp("Serve the protocol of ssh-agent at this socket.", valueName: "socket"), completion: .file())
    var ssh: String?

    @Flag(help: "Store keys that 'ssh-add' sends without a lifetime in the vault; else they stay in memory.")
    var sshStore = false

    func validate() throws {
        guard !sshStore || ssh != nil else { throw ValidationError("--ssh-store is for --ssh") }
    }

    /// The doors in the order in which they are opened.
    var servings: [DoorServing] {
        [
            credentials.map { .credentials(at: FilePath($0)) },
            ssh.map { .ssh(at: FilePath($0), keepsKeys: sshStore) },
            .bus(secretService: secretService, portal: portal),
        ].compactMap { $0 }
    }
}

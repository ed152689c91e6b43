// SPDX-License-Identifier: Apache-2.0

/// The findings of 'vault doctor' about doors.
enum DoorsCheck {
    static func findings(_ state: DoorsState, _ pinentry: PinentryLook?) -> [Finding] {
        let names = state.doors.filter(\.isEnabled).map(\.kind.name).joined(separator: ", ")
        let enabled = names.isEmpty ? "no doors are enabled: see 'vault doors enable'" : "doors are enabled: \(names)"
        let owners = state.doors.filter(\.kind.hasRivals).map { owner(of: $0, state.bus) }
        return [.good(enabled)] + owners + [
            pinentry.map { .good("\($0.text) asks for the passphrase where there is no terminal") }
                ?? .warning(
                    """
                    no program could ask for the passphrase where there is no terminal: install pinentry-gnome3, \
                    pinentry-qt or pinentry-curses
                    """)
        ]
    }

    private static func owner(of door: DoorsState.Summary, _ bus: SessionBus) -> Finding {
        let (name, isEnabled) = (door.busName ?? "", door.isEnabled)
        if let flaw = bus.flaw { return bus.state == .silent ? .warning(flaw) : .good(flaw) }
        if let server = door.server { return .good("this vault's doors serve \(name) (pid \(server.pid))") }
        guard let owner = door.owner else {
            return .good("no program serves \(name)\(isEnabled ? " yet: the bus starts the vault's door" : "")")
        }
        return isEnabled
            ? .warning("\(owner.text) serves \(name) in the place of the vault: log out and in again")
            : .good("\(owner.text) serves \(name)")
    }
}

/// A door in 'vault status': enabled, or served by a process of the vault.
struct OpenDoor: Encodable {
    var name: String
    var enabled: Bool
    /// The vault's process that serves the door; `nil` if it is not running, or unknown.
    var pid: Int32?
    let text: String

    private enum CodingKeys: CodingKey {
        case name, enabled, pid
    }

    init(_ door: DoorsState.Summary, in state: DoorsState) {
        (name, enabled, pid) = (door.kind.name, door.isEnabled, door.server?.pid)
        text = "\(door.kind.name): \(state.text(of: door))"
    }

    static func all(_ state: DoorsState) -> [OpenDoor] { state.doors.filter(\.isOpen).map { OpenDoor($0, in: state) } }
}

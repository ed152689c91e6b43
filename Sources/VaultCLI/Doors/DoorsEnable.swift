// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The arguments that select doors, and the users for whom they are changed.
struct DoorSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The doors: \(Door.allValueStrings.joined(separator: ", ")).", valueName: "door"))
    var doors: [Door]

    @Flag(help: "For all users of the machine, below /usr/local/share; requires root.")
    var system = false

    @Flag(help: "Print JSON.")
    var json = false

    func setup() throws -> DoorSetup {
        if system, let refusal = doors.lazy.compactMap(\.refusalForAll).first {
            throw CommandError.usage(refusal.message, hint: refusal.hint)
        }
        return DoorSetup(places: system ? try DoorPlaces.ofMachine() : try DoorPlaces.ofUser())
    }
}

struct DoorsEnable: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Make programs of the session use the vault for secrets.",
        discussion: """
            \(Door.all.map { "\($0.name): \($0.effect)" }.joined(separator: " ")) With --system, the command changes \
            only the files for the bus and the portal, for all users, without ssh. Prints a line for each change; \
            'vault doors disable' restores the previous state, which is recorded. Ends with 11, and changes nothing, \
            if a file of another program is in the way.
            """)

    @OptionGroup var selection: DoorSelection

    func run() throws {
        let setup = try selection.setup()
        try DoorReport.printing(asJSON: selection.json) { try setup.enable(Set(selection.doors), $0) }
        SessionBus.reload()
        let state = DoorsState()
        for door in selection.doors {
            if case .socket(_, let unit) = door.reach { UserUnits.start(unit) }
            if let advice = door.advice { Output.note(advice) }
            if let name = door.busName, let owner = state[door].owner, !owner.isVault {
                Output.note("\(owner.text) serves \(name) until it ends: log out and in again")
            }
        }
        // A process that the bus starts for these doors would also request the names of the running one.
        if let server = state.doors.lazy.compactMap(\.server).first,
            state.doors.contains(where: { $0.isEnabled && $0.busName != nil && $0.owner == nil })
        {
            Output.note("\(server.text) serves its present doors until it ends: log out and in again")
        }
    }
}

struct DoorsDisable: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Undo the changes of 'vault doors enable'.",
        discussion: """
            Undoes exactly these changes, and restores the previous state. A file that was changed since stays \
            unchanged, with a line that says so. Items that programs have stored meanwhile stay in the vault.
            """)

    @OptionGroup var selection: DoorSelection

    func run() throws {
        let setup = try selection.setup()
        for door in selection.doors where setup.isEnabled(door) {
            if case .socket(_, let unit) = door.reach { UserUnits.stop(unit) }
        }
        try DoorReport.printing(asJSON: selection.json) { try setup.disable(Set(selection.doors), $0) }
        SessionBus.reload()
        let owners = SessionBus().owners
        guard let owner = selection.doors.compactMap({ owners[$0] }).first(where: \.isVault) else { return }
        Output.note("\(owner.text) serves until it ends: log out and in again")
    }
}

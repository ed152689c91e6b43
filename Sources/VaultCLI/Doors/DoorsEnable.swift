// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The arguments that select doors, and the users for whom they are changed.
struct DoorSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The doors: \(Door.allValueStrings.joined(separator: ", ")).", valueName: "door"),
        completion: .list(Door.allValueStrings))
    var doors: [Door] = []

    @Flag(help: "For all users of the machine, below /usr/local/share; requires root.")
    var system = false

    @OptionGroup var output: JSONOption

    func checkNamed() throws {
        guard !doors.isEmpty else { throw ValidationError("Missing expected argument '<door> ...'") }
    }

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

    @Flag(help: "With secret-service: keep the vault open until the session is locked or ends, as gnome-keyring does.")
    var stayOpen = false

    func validate() throws {
        try selection.checkNamed()
        guard !stayOpen || selection.doors.contains(.secretService) && !selection.system else {
            throw ValidationError("--stay-open goes with secret-service, and without --system")
        }
    }

    func run() throws {
        var setup = try selection.setup()
        setup.places.keepsVaultOpen = try staysOpen(setup.places)
        try DoorReport.printing(asJSON: selection.output.json, "the doors are enabled") { report in
            try setup.enable(Set(selection.doors), report)
            SessionBus.reload()
            for case .socket(_, let unit) in selection.doors.map(\.reach) { UserUnits.start(unit) }
        }
        let state = DoorsState()
        for door in selection.doors {
            if let advice = door.advice { Output.note(advice) }
            if let name = door.busName, let owner = state[door].owner, !owner.isVault {
                Output.note("\(owner.text) serves \(name) until it ends: log out and in again")
            }
        }
        if setup.places.keepsVaultOpen, try VaultAccess.agent(of: nil) != nil {
            Output.note("the running agent locks as before until 'systemctl --user restart vault-agent'")
        }
        // A process that the bus starts for these doors would also request the names of the running one.
        if let server = state.doors.lazy.compactMap(\.server).first,
            state.doors.contains(where: { $0.isEnabled && $0.busName != nil && $0.owner == nil })
        {
            Output.note("\(server.text) serves its present doors until it ends: log out and in again")
        }
    }

    private func staysOpen(_ places: DoorPlaces) throws -> Bool {
        guard let path = places.agentDropIn else {
            guard !stayOpen else {
                throw CommandError(
                    .inputOutput, "systemd finds no \(DoorPlaces.agentUnit)",
                    hint: "keep the vault open by 'vault agent --idle 0 --max 0'")
            }
            return false
        }
        guard !stayOpen, !selection.output.json, selection.doors.contains(.secretService),
            try PathContent.at(path).isNothing
        else { return stayOpen }
        return try Confirmation.isWanted(
            "Keep the vault open until the session is locked or ends? Else it locks after 10 minutes without use.")
    }
}

struct DoorsDisable: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Undo the changes of 'vault doors enable'.",
        discussion: """
            Undoes exactly these changes, and restores the previous state. A file that was changed since stays \
            unchanged, with a line that says so. Items that programs have stored meanwhile stay in the vault. Run it \
            with --all before this command is removed.
            """)

    @OptionGroup var selection: DoorSelection

    @Flag(help: "Disable every door that starts this command.")
    var all = false

    func validate() throws {
        guard all else { return try selection.checkNamed() }
        guard selection.doors.isEmpty else { throw ValidationError("--all takes no doors") }
    }

    func run() throws {
        let setup = try selection.setup()
        let doors = all ? Door.all.filter(setup.startsThisCommand) : selection.doors
        for door in doors where setup.isEnabled(door) {
            if case .socket(_, let unit) = door.reach { UserUnits.stop(unit) }
        }
        try DoorReport.printing(asJSON: selection.output.json, "the doors are disabled") { report in
            guard !doors.isEmpty else { return }
            try setup.disable(Set(doors), report)
            SessionBus.reload()
        }
        let owners = SessionBus().owners
        guard let owner = doors.compactMap({ owners[$0] }).first(where: \.isVault) else { return }
        Output.note("\(owner.text) serves until it ends: log out and in again")
    }
}

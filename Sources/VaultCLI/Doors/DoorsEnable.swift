// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The arguments that select doors, and the users for whom they are changed.
struct DoorSelection: ParsableArguments {
    @Argument(help: ArgumentHelp("The doors: secret-service, portal, browser, ssh.", valueName: "door"))
    var names: [Door]

    @Flag(help: "For all users of the machine, below /usr/local/share; requires root.")
    var system = false

    @Flag(help: "Print JSON.")
    var json = false

    func setup() throws -> DoorSetup {
        guard !system || !names.contains(.browser) else {
            throw CommandError.usage("the browser's door is each user's own", hint: "without --system, as that user")
        }
        return DoorSetup(places: system ? try DoorPlaces.ofMachine() : try DoorPlaces.ofUser())
    }
}

struct DoorsEnable: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Make programs of the session use the vault for secrets.",
        discussion: """
            secret-service: the bus starts 'vault doors' for org.freedesktop.secrets, and gnome-keyring and KWallet \
            are kept from taking that name: gnome-keyring's units are masked, its start with the session is hidden, \
            and apiEnabled=false is set for KWallet. 'vault import secret-service' moves their secrets beforehand. \
            portal: Flatpak applications get the secret with which theirs are encrypted from the vault. browser: the \
            extension KeePassXC-Browser gets logins from the vault, by a file for each browser, which replaces \
            KeePassXC's file until 'disable'. ssh: systemd listens at $XDG_RUNTIME_DIR/vault/ssh.sock and starts \
            'vault doors' for the first client, and later sessions have this path in $SSH_AUTH_SOCK. With --system, \
            the command changes only the files for the bus and the portal, for all users, without ssh. Prints a line \
            for each change; 'vault doors disable' restores the previous state, which is recorded. Ends with 11, and \
            changes nothing, if a file of another program is in the way.
            """)

    @OptionGroup var selection: DoorSelection

    func run() throws {
        let setup = try selection.setup()
        guard !selection.system || !selection.names.contains(.ssh) else {
            throw CommandError.usage("ssh keys are each user's own", hint: "ssh without --system")
        }
        try DoorReport.printing(asJSON: selection.json) { try setup.enable(Set(selection.names), $0) }
        SessionBus.reload()
        if selection.names.contains(.ssh) {
            SSHUnits.start()
            Output.note("in sessions that run already: export SSH_AUTH_SOCK=\"$XDG_RUNTIME_DIR/vault/ssh.sock\"")
        }
        let state = DoorsState()
        if selection.names.contains(.secretService), let owner = state[.secretService].owner, !owner.isVault {
            Output.note("\(owner.text) serves \(Door.secretServiceName) until it ends: log out and in again")
        }
        // A process that the bus starts for these doors would also request the names of the running one.
        if let server = state.doors.lazy.compactMap(\.server).first,
            state.doors.contains(where: { $0.isEnabled && $0.busName != nil && $0.owner == nil })
        {
            Output.note("\(server.text) serves what it was started for until it ends: log out and in again")
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
        if selection.names.contains(.ssh), !selection.system, setup.isEnabled(.ssh) { SSHUnits.stop() }
        try DoorReport.printing(asJSON: selection.json) { try setup.disable(Set(selection.names), $0) }
        SessionBus.reload()
        let owners = SessionBus().owners
        guard let owner = selection.names.compactMap({ owners[$0] }).first(where: \.isVault) else { return }
        Output.note("\(owner.text) serves until it ends: log out and in again")
    }
}

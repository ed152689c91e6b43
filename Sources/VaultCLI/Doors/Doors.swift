// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultAgentServer
internal import VaultDoorKit
internal import VaultSystem

struct Doors: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doors",
        abstract: "Serve the protocols that programs already speak.",
        discussion: """
            A door lets programs that do not know the vault use it. The doors are \
            \(Door.all.map { "\($0.name) (\($0.purpose))" }.joined(separator: ", ")), and --credentials. 'vault doors \
            enable' makes the session start this command, and 'vault doors disable' undoes that. Without a door to \
            open, the command lists the doors, like 'vault doors status'.

            The command serves until it is terminated. A name or a socket that another program has is left to that \
            program (14); without a bus, and when the bus goes away, the command ends with 30. Items come from the \
            agent, which applies its rules to the requesting program. With a way to unlock, such as --passphrase-file, \
            the vault is unlocked before programs are served.

            While the vault is locked, a program that requests a secret waits until the user was asked for the \
            passphrase: by pinentry, or the program named by $VAULT_PINENTRY, in a window or at the terminal of \
            $GPG_TTY. If there is no vault yet, the first program that stores a secret has one made. The user is asked \
            the same way for items that require the passphrase each time; no door serves those. 'vault doors --here' \
            tells running doors to ask where that command is: at $DISPLAY or $WAYLAND_DISPLAY, else at $GPG_TTY or the \
            terminal of its input.

            --credentials is for the units of systemd: LoadCredential=ID:SOCKET gives a unit the secret of the access \
            group systemd whose service is the unit, its template such as x@.service, or *, and whose account is ID. A \
            unit whose credential is missing or locked does not start.
            """,
        subcommands: [DoorsEnable.self, DoorsDisable.self, DoorsStatus.self])

    @OptionGroup var vault: VaultOptions

    @OptionGroup var doors: DoorOptions

    @Flag(help: "Tell running doors to ask for passphrases at this display or terminal.")
    var here = false

    /// The process of the agent to which this process belongs.
    @Option(help: .hidden)
    var parent: Int32?

    func validate() throws {
        guard !vault.unlocking.securityKey.isNamed else {
            throw ValidationError("--fido2 goes with commands: a door asks for the passphrase, or for the key instead")
        }
    }

    func run() throws {
        do { try open() } catch {
            if parent != nil, let failure = CommandLineTool.failure(error) { AgentLauncher.announce(failure) }
            throw error
        }
    }

    private func open() throws {
        if let parent {
            guard clinux_end_with(parent) != 0 else { return }
            AgentDoors.awaitOpening()
        }
        let servings = doors.servings
        guard !here || servings.isEmpty else {
            throw CommandError.usage("--here opens no door", hint: "see 'vault help doors'")
        }
        guard !here else { return try Doors.handOver() }
        guard !servings.isEmpty else { return try DoorsStatus.parse([]).run() }
        // Any message may carry descriptors, and those of calls that wait for the user stay open until then. libsystemd
        // closes the connection when there is no room for a descriptor.
        clinux_allow_all_descriptors()
        ProcessName.set("vault-doors")
        let house = VaultHouse(try vault.file.path(), vault.unlocking)
        if vault.unlocking.isNamed { house.unlockByNamedWay() }
        let isOpen = { if parent != nil { AgentLauncher.announce(nil) } }
        try DoorsServe().run(servings, house, isOpen)
    }

    private static func handOver() throws {
        var variables: [String: String] = [:]
        for name in PromptPlace.names {
            if let value = ProcessEnvironment.variable(name), !value.isEmpty { variables[name] = value }
        }
        if variables["GPG_TTY"] == nil, let name = unsafe ttyname(STDIN_FILENO) {
            // libc's buffer, valid until the next call.
            variables["GPG_TTY"] = unsafe String(cString: name)
        }
        guard PromptPlace({ variables[$0] }).isSomewhere else {
            throw CommandError.usage("there is neither a display nor a terminal here", hint: "set DISPLAY or GPG_TTY")
        }
        let paths = PlaceSocket.paths(ProcessEnvironment.variable)
        guard paths.map({ PlaceSocket.tell(variables, at: $0) }).contains(true) else {
            throw CommandError(.inputOutput, "no doors are open", hint: "see 'vault doors status'")
        }
        Output.note("people are asked here from now on")
    }
}

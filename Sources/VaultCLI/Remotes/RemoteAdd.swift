// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultFleet
internal import VaultFormat
internal import VaultSync

struct RemoteAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Found a fleet, join one, or add a second remote.",
        discussion: """
            On the first device the command founds the fleet, and prints a recovery code once, before anything else \
            happens. On every other device --join prints a code and waits for an hour until an owner's device takes \
            the code: 'vault device approve'. Without such a device, --recovery-code-file joins at once. The vault's \
            own items join those of the fleet. In a vault that belongs to a fleet, the command adds another remote of \
            the same fleet, or changes the credentials of an existing remote.
            """)

    @Argument(
        help: """
            file:///absolute/path, a folder that the devices share; ssh://[user@]host[:port]/absolute/path, a folder \
            of a server; postgres://user@host/database, prepared by 'vault remote sql'; or etcd://[user@]host[:port]. \
            The last two take several hosts of one service, separated by commas.
            """)
    var url: String

    @Flag(help: "Ask to join the existing fleet, and wait.")
    var join = false

    @Option(file: "Join with the fleet's recovery code in this file; - for a prompt.")
    var recoveryCodeFile: String?

    @Flag(help: .hidden)
    var onlySynchronizable = false

    @Option(help: ArgumentHelp("The name of this device in the fleet; else the host's name.", valueName: "device"))
    var name: String?

    @Option(help: ArgumentHelp("With --join: the time to wait, at most an hour.", valueName: "seconds"))
    var timeout: Int?

    @OptionGroup var credentials: RemoteCredentialOptions
    @OptionGroup var file: VaultFileOptions
    @OptionGroup var passphrase: PassphraseOptions

    @Option(file: "Unlock the vault with this key file.")
    var keyFile: String?

    @OptionGroup var securityKey: SecurityKeyOptions

    @Flag(help: "Print JSON: with --join, an object with the code, and another one once the vault has joined.")
    var json = false

    static let longestWait = 3600
    static let pause: UInt32 = 2

    func validate() throws {
        guard !join || recoveryCodeFile == nil else {
            throw ValidationError("--join and --recovery-code-file exclude each other")
        }
        if let timeout {
            guard join else { throw ValidationError("--timeout goes with --join") }
            guard (1...Self.longestWait).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600") }
        }
        if let name, !RosterDevice.isName(name) {
            throw ValidationError("a device's name has 1 to 255 bytes and no control characters")
        }
    }

    func run() throws {
        guard !onlySynchronizable else {
            throw CommandError.usage(
                "--only-synchronizable is gone: a part of a vault is shared as a vault of its own",
                hint: "a vault for it: 'vault init --vault FILE', 'vault remote add URL --vault FILE'")
        }
        let remote = try RemoteURL(argument: url)
        let place = RemotePlace(remote, try credentials.credentials(for: remote))
        // Here `--recovery-code-file` means the fleet's recovery code, and not the vault's.
        var vault = try VaultOptions.parse([])
        (vault.file, vault.unlocking.passphrase, vault.unlocking.keyFile) = (file, passphrase, keyFile)
        vault.unlocking.securityKey = securityKey
        var code: RecoveryCode?
        try vault.withFleet(mustBelong: false) { fleet in
            guard try fleet.status() == nil else {
                try checkAdds()
                return try tellAdded(remote, try fleet.change(AddRemoteRequest(place)).name ?? "")
            }
            let member = NewMember(place: place, device: try name ?? RemoteAdd.hostName())
            if join { return try join(fleet, remote, member) }
            guard let recoveryCodeFile else { return try found(fleet, remote, member) }
            let known = try code ?? UnlockOptions.recoveryCode(recoveryCodeFile)
            code = known
            let change = try Progress.during("joining") { _ in
                try fleet.change(RecoverRequest(member, code: known.secret))
            }
            try tellJoined(remote, change.name ?? member.device)
        }
    }

    /// - Throws: an error for options that only make sense before the vault belongs to a fleet.
    private func checkAdds() throws {
        guard !join, recoveryCodeFile == nil else { throw SyncError.alreadyJoined }
        guard name == nil else { throw CommandError.usage("the vault belongs to a fleet: --name was chosen then") }
    }

    private func tellAdded(_ remote: RemoteURL, _ device: String) throws {
        try report(.added, remote, device)
        AgentNetwork.tell(of: remote)
        Output.note("'vault sync' puts there what the others are to find")
    }

    private func found(_ fleet: any FleetControl, _ remote: RemoteURL, _ member: NewMember) throws {
        try fleet.change(FoundRequest(member, code: nil))
        let code = try RecoveryCode(SystemRandom())
        try report(.founded, remote, member.device, code)
        Output.note(
            "the recovery code of the fleet, which lets a device join without another one; " + FleetCode.isShownOnce)
        do {
            _ = try Progress.during("founding the fleet") { _ in
                try fleet.change(FoundRequest(member, code: code.secret), isFinal: true)
            }
        } catch {
            Output.warn(
                (try? fleet.status()) != nil
                    ? "the fleet is founded on this device, and 'vault sync' copies it to the folder"
                    : "no fleet was founded: the recovery code is invalid")
            throw error
        }
        AgentNetwork.tell(of: remote)
        Output.note("on another machine: 'vault init', 'vault remote add \(remote.text) --join'")
    }

    private func join(_ fleet: any FleetControl, _ remote: RemoteURL, _ member: NewMember) throws {
        let code = try RecoveryCode(SystemRandom())
        try fleet.change(AskToJoinRequest(member, code: code.secret))
        var isLocked = false
        let name = try waitForOwner(remote, member.device, code) {
            do {
                return try fleet.change(AnswerToJoinRequest(code.secret), isFinal: true).name
            } catch VaultError.locked {
                if !isLocked { Output.note("the vault was locked; it joins after 'vault unlock'") }
                isLocked = true
                return nil
            }
        }
        try tellJoined(remote, name)
    }

    private func tellJoined(_ remote: RemoteURL, _ device: String) throws {
        try report(.joined, remote, device)
        AgentNetwork.tell(of: remote)
    }

    /// Shows the code, and polls for an answer.
    ///
    /// - Parameter poll: returns the device's name in the fleet once the device has joined; else `nil`.
    private func waitForOwner(
        _ remote: RemoteURL, _ device: String, _ code: RecoveryCode, _ poll: () throws -> String?
    ) throws -> String {
        try report(.waiting, remote, device, code)
        Output.note("type this code at 'vault device approve' on an owner's device; it is valid for an hour")
        let end = ContinuousClock.now + .seconds(timeout ?? Self.longestWait)
        return try Progress.during("waiting for 'vault device approve'") { _ in
            while true {
                if let name = try poll() { return name }
                guard ContinuousClock.now < end else {
                    throw CommandError(
                        .notFound, "no owner approved this device in time", hint: "the next attempt has a new code")
                }
                sleep(Self.pause)
            }
        }
    }

    private static func hostName() throws -> String {
        let name = ProcessInfo.processInfo.hostName
        guard RosterDevice.isName(name) else {
            throw CommandError.usage("the machine's name cannot be a device's name", hint: "--name DEVICE")
        }
        return name
    }

    // MARK: What is said

    private enum Result: String {
        case founded, waiting, joined, added
    }

    /// Prints the code alone, or a JSON object with it.
    private func report(_ result: Result, _ remote: RemoteURL, _ device: String, _ code: RecoveryCode? = nil) throws {
        if json {
            let write = {
                try FleetCode.write(
                    ["state": result.rawValue, "remote": remote.text, "device": device], with: code)
            }
            // A code is shown before its change is made, so that a failure stops the change.
            guard code == nil else { return try write() }
            return try Output.after(
                result == .joined ? "the vault has joined the fleet" : "the remote is added",
                hint: "see 'vault status'", write)
        }
        if let code {
            try FleetCode.write(code)
        } else if result == .joined {
            Output.note("joined the fleet as '\(device.printable)'")
        }
    }
}

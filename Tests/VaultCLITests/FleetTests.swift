// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultFormat

@testable import VaultCLI
@testable import VaultSync

struct FleetErrorTests {
    private static let log = Bytes16([UInt8](repeating: 7, count: 16))

    @Test(arguments: [
        (SyncError.removed, VaultCLI.ExitStatus.removed), (.notJoined, .notFound), (.alreadyJoined, .alreadyExists),
        (.notAnOwner, .failure), (.noSuchDevice, .notFound), (.isFiltered, .usage),
        (.ambiguousDevice([NamedDevice(id: log, isRemoved: true)]), .ambiguous), (.noSuchRemote, .notFound),
        (.remoteInUse, .alreadyExists),
        (.noAnswer, .notFound), (.wrongRecoveryCode, .wrongPassphrase), (.busy, .busy), (.tooLarge, .failure),
        (.tooManyLogs, .resources), (.store(.unreachable("/x")), .inputOutput),
        (.store(.inputOutput(.noSpace, "/x")), .inputOutput), (.vault(.locked), .locked),
        (.vault(.storage(.damaged(.marks))), .damaged), (.format(.invalid(.device)), .damaged),
        (.alarm(Alarm(.damaged, log, 3, "x")), .damaged), (.alarm(Alarm(.forged, log, 3, "x")), .damaged),
        (.alarm(Alarm(.forked, nil, 3, "x")), .forked), (.alarm(Alarm(.withheld, nil, 0, "x")), .rolledBack),
        (.alarm(Alarm(.rolledBack, log, 3, "x")), .rolledBack), (.alarm(Alarm(.diverged, log, 3, "x")), .rolledBack),
    ]) func `each failure of a sync has its exit code, and says what it is`(
        error: SyncError, status: VaultCLI.ExitStatus
    ) {
        let failure = CommandError(error)
        #expect(failure.status == status)
        #expect(CommandLineTool.failure(error)?.status == status)
        for text in [failure.message, failure.hint].compactMap({ $0 }) {
            #expect(text.first?.isUppercase == false)
            #expect(text.last != ".")
            #expect(!text.contains("\n"))
        }
    }

    @Test func `the codes are the published ones`() {
        #expect(VaultCLI.ExitStatus.forked.rawValue == 23)
        #expect(VaultCLI.ExitStatus.removed.rawValue == 24)
    }

    @Test func `an alarm names the device whose change it is, as a terminal may show it`() {
        let names = DeviceNames([Self.log: "phone\u{1B}[2J\u{202E}"])
        let alarm = Alarm(.forged, Self.log, 12, "what\u{7} it says")
        let message = CommandError(alarm, of: names).message
        #expect(message.contains("change 12 of 'phone\\u{1b}[2J\\u{202e}'"))
        #expect(message.contains("what\\u{7} it says"))
        #expect(CommandError(alarm).message.contains("an unknown device"))
    }

    @Test func `a folder with a hostile name is told of harmlessly`() {
        let failure = CommandError(SyncError.store(.unreachable("/a\n\u{9B}b")))
        #expect(failure.message.hasSuffix("there is no '/a\\n\\u{9b}b'"))
    }
}

struct FleetArgumentTests {
    private func usage(_ arguments: String...) -> String? {
        do {
            _ = try CommandLineTool.parse(arguments)
            return nil
        } catch { return CommandLineTool.failure(error)?.message }
    }

    @Test func `no code is taken from the command line, or repeated`() {
        let code = "ABCDE-FGHJK-MNPQR-STVWX-YZ012-34567-89ABC-DEFGH"
        for arguments in [
            ["device", "approve", code], ["remote", "add", "file:///x", "--join", code],
            ["device", "approve", "--code", code], ["remote", "add", "file:///x", "--recovery-code=\(code)"],
        ] {
            #expect(throws: (any Error).self) { try CommandLineTool.parse(arguments) }
            do { _ = try CommandLineTool.parse(arguments) } catch {
                #expect(CommandLineTool.failure(error)?.message.contains(code) == false)
            }
        }
    }

    @Test func `what excludes each other is refused`() {
        #expect(usage("remote", "add", "file:///x", "--join", "--recovery-code-file", "f") != nil)
        #expect(usage("remote", "add", "file:///x", "--timeout", "9") == "--timeout goes with --join")
        #expect(usage("remote", "add", "file:///x", "--join", "--timeout", "0") == "--timeout takes 1 to 3600")
        #expect(usage("device", "approve", "--reader", "--writer") != nil)
        #expect(usage("device", "approve", "--code-file", "-", "--passphrase-fd", "0") != nil)
        #expect(usage("conflicts", "resolve", "s", "--keep", "-1") != nil)
        #expect(usage("conflicts", "resolve", "s") != nil)
        #expect(usage("conflicts", "--reveal", "--json") == nil)
        #expect(usage("remote", "add", "file:///x", "--join", "--name", "phone", "--timeout", "9") == nil)
    }

    @Test(arguments: ["share", "file://share", "file:///a/%zz", "postgres://ada:s3cret@host/db", ""])
    func `what is no address of a folder is a usage error that repeats nothing`(url: String) throws {
        let refusal = try #require(throws: SyncError.self) { _ = try RemoteURL(url) }
        let error = CommandError(refusal)
        #expect(error.status == .usage)
        #expect(!error.message.contains("s3cret"))
    }
}

/// The findings of `vault doctor` about a fleet.
struct FleetCheckTests {
    private static func device(_ name: String, heard: Double?, isSilent: Bool = false) -> FleetDevice {
        FleetDevice(
            id: .zero, name: name, role: .writer, isThis: false, lastHeard: heard, isSilent: isSilent)
    }

    private static func lines(
        _ devices: [FleetDevice], conflicts: Int = 0, isRemoved: Bool = false
    ) throws -> [String] {
        let folder = try TemporaryDirectory()
        let status = FleetStatus(
            realmID: .zero, deviceName: "laptop",
            remotes: [FleetStatus.Remote(url: RemoteURL(folder: folder.path), lastSync: 1000)],
            isFiltered: false, pending: 0, conflicts: conflicts, isRemoved: isRemoved, removals: [],
            lastEqual: nil, devices: devices, alarms: [])
        let now = Date(timeIntervalSinceReferenceDate: 10_000_000)
        return FleetCheck.findings(FleetSummary(status, DeviceNames()), now: now).map(\.line)
    }

    @Test func `a device that was removed is told so`() throws {
        #expect(try Self.lines([], isRemoved: true).contains { $0.contains("this device was removed from the fleet") })
        #expect(try !Self.lines([]).contains { $0.contains("removed") })
    }

    @Test func `a fleet whose devices have all been heard from is good`() throws {
        let lines = try Self.lines([Self.device("phone", heard: 9_999_000)])
        #expect(lines.allSatisfy { $0.hasPrefix("ok ") })
        #expect(lines.last?.contains("every device of the fleet has been heard from") == true)
    }

    @Test func `silent devices and wrong clocks are named`() throws {
        let lines = try Self.lines(
            [
                Self.device("never", heard: nil, isSilent: true), Self.device("long ago", heard: 1000),
                Self.device("ahead\u{1B}", heard: 10_004_000), Self.device("fine", heard: 9_000_000),
            ], conflicts: 2)
        let warnings = lines.filter { $0.hasPrefix("warn") }
        #expect(warnings.count == 4)
        #expect(warnings[0].contains("'never' has never been heard from"))
        #expect(warnings[1].contains("'long ago' was last heard from on"))
        #expect(warnings[2].contains("the clock of 'ahead\\u{1b}'"))
        #expect(warnings[3].contains("2 conflicts: see 'vault conflicts'"))
    }

    @Test(arguments: [(0, "conflicts   0"), (1, "conflicts   1: see 'vault conflicts'")])
    func `the status says how many conflicts there are and where to look`(count: Int, line: String) throws {
        let status = FleetStatus(
            realmID: .zero, deviceName: "laptop", remotes: [], isFiltered: false, pending: 0, conflicts: count,
            isRemoved: false, removals: [], lastEqual: nil, devices: [], alarms: [])
        #expect(FleetSummary(status, DeviceNames()).lines.contains(line))
    }
}

/// The note of `vault get` at a terminal about an item with a conflict.
struct ConflictNoteTests {
    private static let note = "note: this item has a conflict: see 'vault conflicts'"

    @Test func `the note is for people alone`() throws {
        let shell = try Shell()
        let made = try shell.run(
            """
            set -e; chmod 600 pass; mkdir share there; export VAULT_PASSPHRASE_FILE=$PWD/pass
            vault init --kdf interactive; HOME=$PWD/there vault init --kdf interactive
            vault remote add file://$PWD/share --name laptop > code && chmod 600 code
            HOME=$PWD/there vault remote add file://$PWD/share --recovery-code-file code --name phone
            for home in $PWD $PWD/there; do echo $home | HOME=$home vault add radio; HOME=$home vault sync; done
            echo alone | vault add mail; vault sync
            """)
        #expect(made.status == 0, "\(made.error)")
        for (service, isExpected) in [("radio", true), ("mail", false)] {
            let arguments = ["get", service, "--passphrase-file", "pass"]
            let terminal = try PseudoTerminal(arguments, in: shell)
            #expect(terminal.end() == 0)
            #expect(terminal.screen.contains(Self.note) == isExpected)
            let piped = try shell.run("vault \(arguments.joined(separator: " "))")
            #expect(piped.status == 0 && piped.error == "")
        }
    }
}

/// Approval at a terminal.
struct FleetPromptTests {
    @Test func `approve takes the code unseen, shows who asks, and asks`() throws {
        let (here, there) = (try Shell(), try Shell())
        let url = "file://\(here.home.path.string)/share"
        let founded = try here.run(
            """
            chmod 600 pass; mkdir share; vault init --kdf interactive --passphrase-file pass
            vault remote add \(url) --name laptop --passphrase-file pass
            """)
        #expect(founded.status == 0, "\(founded.error)")
        _ = try there.run("chmod 600 pass; vault init --kdf interactive --passphrase-file pass")
        let code = try there.firstLine(
            ofAside: "vault remote add \(url) --join --timeout 600 --name phone --passphrase-file pass")
        for answer in ["n", "y"] {
            let terminal = try PseudoTerminal(["device", "approve", "--passphrase-file", "pass"], in: here)
            try terminal.wait(for: "Code of the new device: ")
            #expect(!terminal.isEchoing)
            terminal.type(code)
            try terminal.wait(for: "Let 'phone' into the fleet, as a writer? [y/N] ")
            #expect(!terminal.screen.contains(code.prefix(11)))
            terminal.type(answer + "\n")
            #expect(terminal.end() == (answer == "y" ? 0 : 3))
        }
        #expect(try there.endOfAside() == 0)
        #expect(try there.run("vault device list --passphrase-file pass | wc -l").output == "2\n")
    }

    @Test func `a code that is wrong in one group is told so`() throws {
        let shell = try Shell()
        let code = try shell.run(
            """
            chmod 600 pass; mkdir share; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            vault remote add file://$PWD/share --name laptop --passphrase-file pass
            """
        ).output
        let wrong = (code.hasPrefix("0") ? "1" : "0") + code.dropFirst()
        let terminal = try PseudoTerminal(["device", "approve", "--passphrase-file", "pass"], in: shell)
        try terminal.wait(for: "Code of the new device: ")
        terminal.type(wrong)
        try terminal.wait(for: "mistyped in group 1 of 8")
        #expect(terminal.end() == 64)
    }
}

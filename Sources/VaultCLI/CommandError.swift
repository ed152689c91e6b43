// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage
internal import VaultSystem

/// The exit codes, on which scripts rely.
enum ExitStatus: Int32, CaseIterable {
    case done = 0
    case failure = 1
    case cancelled = 3
    case locked = 4
    case wrongPassphrase = 5
    case findings = 6
    case notFound = 10
    case alreadyExists = 11
    case ambiguous = 12
    case changed = 13
    case busy = 14
    case resources = 15
    case noVault = 16
    case damaged = 20
    case unsupported = 21
    case rolledBack = 22
    case forked = 23
    case removed = 24
    case inputOutput = 30
    case unknownOutcome = 31
    case usage = 64
    case cannotRun = 126
    case commandNotFound = 127
    case interrupted = 130

    var meaning: String {
        switch self {
        case .done: "done"
        case .failure: "other failure"
        case .cancelled: "cancelled"
        case .locked: "locked, and no way to unlock"
        case .wrongPassphrase: "wrong passphrase"
        case .findings: "done, with findings: not everything was taken, or it differs"
        case .notFound: "not found"
        case .alreadyExists: "already exists"
        case .ambiguous: "ambiguous: several items match"
        case .changed: "changed by someone else (--if-version)"
        case .busy: "busy: another process holds the lock of the vault"
        case .resources: "not enough memory or other resources"
        case .noVault: "there is no vault"
        case .damaged: "damaged or tampered with"
        case .unsupported: "unsupported version"
        case .rolledBack: "rolled back to an older copy; in a fleet, also withheld or diverged"
        case .forked: "forked: two devices published contradictory histories"
        case .removed: "this device was removed from its fleet"
        case .inputOutput: "input or output failed"
        case .unknownOutcome: "outcome unknown: the disk failed while saving"
        case .usage: "wrong usage"
        case .cannotRun: "run: the command cannot be run"
        case .commandNotFound: "run: there is no such command"
        case .interrupted: "interrupted"
        }
    }
}

/// The failure of a command: a code for scripts, a message and a hint for the user.
struct CommandError: Error {
    var status: ExitStatus
    /// Lower case, without a full stop, a secret or an attribute value.
    var message: String
    var hint: String?

    init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
    }

    static func usage(_ message: String, hint: String? = nil) -> CommandError {
        CommandError(.usage, message, hint: hint)
    }

    static func noSuchItem(hint: String?) -> CommandError {
        CommandError(.notFound, VaultError.itemNotFound.text, hint: hint)
    }
}

/// Thrown by a command that has done its work and told what it could not take.
struct DoneWithFindings: Error {}

extension CommandError {
    /// - Parameter task: the task at which the system failed, such as "open a file".
    static func cannot(_ task: String, _ errno: Errno) -> CommandError {
        CommandError(.inputOutput, "cannot \(task): \(errno.text)")
    }
}

/// Calls the system for a task, which the error names.
func attempt(_ task: @autoclosure () -> String, _ call: @autoclosure () throws(Errno) -> Void) throws {
    do throws(Errno) { try call() } catch { throw CommandError.cannot(task(), error) }
}

/// Like `attempt`, for a call that opens a file.
func opened(_ task: @autoclosure () -> String, _ call: @autoclosure () throws(Errno) -> Descriptor) throws -> Descriptor
{
    do throws(Errno) { return try call() } catch { throw CommandError.cannot(task(), error) }
}

/// The exit code of a library's error, and the hint to the user.
private typealias Verdict = (status: ExitStatus, hint: String?)

extension CommandError {
    init(_ error: VaultError) {
        let verdict = error.verdict
        self.init(verdict.status, error.text, hint: verdict.hint)
    }

    init(_ error: StorageError) { self.init(VaultError.storage(error)) }

    /// Makes the error with the name of the file concerned.
    init(_ error: VaultError, at path: FilePath) {
        self.init(error)
        if case .storage(let error) = error { name(path, in: error) }
    }

    private mutating func name(_ path: FilePath, in error: StorageError) {
        let name = "'\(path.string.printable)'"
        switch error {
        // The file concerned is another one, named in the message.
        case .refused(.deviceSecret), .inputOutput(_, .log): break
        case .noVault: message = "there is no vault at \(name) yet"
        case .alreadyExists, .refused, .damaged, .unsupported, .busy, .inputOutput, .indeterminate, .rolledBack:
            message += " (\(name))"
        default: break
        }
    }
}

extension VaultError {
    fileprivate var verdict: Verdict {
        switch self {
        case .parameter, .noSuchAttribute, .noSuchClass: (.usage, nil)
        case .duplicateItem: (.alreadyExists, "'vault set' adds or updates")
        case .itemNotFound: (.notFound, nil)
        case .accessGroupDenied: (.failure, "see $VAULT_ACCESS_GROUPS")
        case .locked: (.locked, "'vault unlock', or --passphrase-file FILE")
        case .presenceRequired: (.locked, "run it at a terminal, or with --passphrase-file FILE")
        case .versionMismatch: (.changed, "read it again: 'vault get SERVICE --json'")
        case .notADeviceIdentifier: (.failure, "'vault device-id --reset' makes a new one")
        case .itemChanged: (.changed, "try again")
        case .unimplemented, .valueMismatch, .migrationFailed, .closed, .insideTransaction: (.failure, nil)
        case .cancelled: (.cancelled, nil)
        case .storage(let error): error.verdict
        case .agent(let flaw): flaw.verdict
        }
    }
}

extension AgentFlaw {
    fileprivate var verdict: Verdict {
        switch self {
        case .notRunning: (.failure, "'vault unlock' starts it again")
        case .gone: (.unknownOutcome, "look with 'vault find'")
        case .otherVault: (.failure, "see 'vault status'")
        case .refused: (.failure, "'vault run' and 'vault inject' may be")
        case .protocolViolation, .olderVersion, .newerVersion:
            (.failure, "end it with 'vault agent --stop', and unlock again")
        case .unanswered: (.locked, nil)
        case .busy: (.busy, "try again")
        }
    }
}

extension StorageError {
    fileprivate var verdict: Verdict {
        switch self {
        case .noVault: (.noVault, "create one: 'vault init'")
        case .alreadyExists: (.alreadyExists, "choose another one: --vault FILE")
        case .refused(let refusal): refusal.verdict
        case .damaged(.notAVault):
            (
                .damaged,
                "--vault FILE or $VAULT_FILE names the vault; if this was one, 'vault restore' puts a backup back"
            )
        case .damaged:
            (.damaged, "restore a backup, or recover the rest with 'vault salvage'; nothing was written")
        case .unsupported: (.unsupported, "upgrade vault")
        case .wrongPassphrase: (.wrongPassphrase, nil)
        case .unacceptableKeyFile, .unacceptablePassphrase, .unacceptableRecoveryCode(.length): (.usage, nil)
        case .unacceptableRecoveryCode(.group): (.usage, "compare that group with your written copy")
        case .noMatchingSlot: (.locked, "see 'vault slot list'")
        case .slot(let flaw): flaw.verdict
        case .machineSecret(let flaw): flaw.verdict
        case .busy: (.busy, "see 'vault doctor'")
        case .resourceUnavailable: (.resources, "free some, or make the vault with '--kdf interactive'")
        case .inputOutput(_, .log): (.inputOutput, "make room for it, or end another agent that writes it")
        case .inputOutput, .poisoned: (.inputOutput, nil)
        case .indeterminate: (.unknownOutcome, "look with 'vault find'")
        case .rekeyed: (.locked, "unlock it again")
        case .rolledBack:
            (.rolledBack, "put the newer file back; or, to keep this one: 'vault verify --accept-older --yes'")
        case .locked: (.locked, nil)
        case .forked: (.failure, nil)
        case .valueTooLarge, .attributesTooLarge: (.usage, nil)
        case .noStateDirectory: (.inputOutput, "set HOME or XDG_STATE_HOME")
        }
    }
}

extension SlotFlaw {
    fileprivate var verdict: Verdict {
        switch self {
        case .full, .annexFull: (.failure, "'vault slot remove' makes room")
        case .cost:
            (.failure, "choose a cheaper derivation with --kdf, or make room with 'vault slot remove'")
        case .lastForPeople: (.failure, "add a passphrase or a recovery code first: 'vault slot add'")
        case .noSuchSlot: (.notFound, "see 'vault slot list'")
        case .changed: (.changed, "see 'vault slot list', and try again")
        case .name: (.alreadyExists, "choose one with --name")
        }
    }
}

extension MachineFlaw {
    fileprivate var verdict: Verdict {
        switch self {
        case .noTool: (.locked, "install systemd 250 or later")
        case .failed:
            (.locked, "use another way: --passphrase-file FILE, --recovery-code-file FILE; see 'vault slot list'")
        case .cannotSeal:
            (.failure, "see 'systemd-creds has-tpm2'; a key file needs no TPM2: 'vault slot add key-file'")
        case .timedOut: (.busy, "try again, or use another way to unlock")
        case .noDevice: (.usage, nil)
        case .unknownProvider: (.unsupported, "upgrade vault")
        }
    }
}

extension Refusal {
    fileprivate var verdict: Verdict {
        switch self {
        case .notARegularFile, .foreignOwner, .severalLinks, .nameTooLong, .deviceSecret: (.inputOutput, nil)
        case .accessibleByOthers: (.inputOutput, "chmod 600 it, then look for what they did")
        case .directoryWritableByOthers: (.inputOutput, "chmod o-w the directory")
        case .directoryWritableByGroup: (.inputOutput, "chmod g-w the directory")
        }
    }
}

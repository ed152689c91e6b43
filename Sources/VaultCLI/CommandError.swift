// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// The exit codes, on which scripts rely.
enum ExitStatus: Int32, CaseIterable {
    case done = 0
    case failure = 1
    case cancelled = 3
    case locked = 4
    case wrongPassphrase = 5
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

    static func noSuchItem(hint: String?) -> CommandError { CommandError(.notFound, "no such item", hint: hint) }
}

extension CommandError {
    init(_ error: VaultError) {
        switch error {
        case .parameter(let flaw): self.init(flaw)
        case .noSuchAttribute(let name): self.init(.usage, "the class has no attribute '\(name)'")
        case .noSuchClass: self.init(.usage, "no such class")
        case .duplicateItem:
            self.init(.alreadyExists, "an item with this key exists", hint: "'vault set' adds or updates")
        case .itemNotFound: self = .noSuchItem(hint: nil)
        case .accessGroupDenied:
            self.init(.failure, "the access group is not one of the caller's", hint: "see $VAULT_ACCESS_GROUPS")
        case .locked: self.init(.locked, "the vault is locked", hint: "'vault unlock', or --passphrase-file FILE")
        case .presenceRequired:
            self.init(
                .locked, "this item requires a person to enter the passphrase, and nobody can be asked",
                hint: "run it at a terminal, or with --passphrase-file FILE")
        case .unimplemented: self.init(.failure, "not available for items of this class")
        case .versionMismatch:
            self.init(.changed, "the item is not at this version", hint: "read it again: 'vault get SERVICE --json'")
        case .notADeviceIdentifier:
            self.init(
                .failure, "the item stored as the device identifier holds no identifier",
                hint: "'vault device-id --reset' makes a new one")
        case .itemChanged: self.init(.changed, "the item changed while it was read", hint: "try again")
        case .valueMismatch(let path):
            self.init(.failure, "the value does not have the expected shape\(path.isEmpty ? "" : ", at '\(path)'")")
        case .migrationFailed: self.init(.failure, "the value has an older shape, and its conversion failed")
        case .closed, .insideTransaction:
            self.init(.failure, "the vault was used after it was closed, or inside a transaction")
        case .cancelled: self.init(.cancelled, "cancelled")
        case .storage(let error): self.init(error)
        case .agent(let flaw): self.init(flaw)
        }
    }

    private init(_ flaw: AgentFlaw) {
        switch flaw {
        case .notRunning: self.init(.failure, "the agent has ended", hint: "'vault unlock' starts it again")
        case .gone:
            self.init(
                .unknownOutcome, "the agent ended before it answered: the change may have been saved",
                hint: "look with 'vault find'")
        case .otherVault: self.init(.failure, "the running agent has another vault", hint: "see 'vault status'")
        case .refused:
            self.init(
                .failure, "refused: the agent's policy does not let this program do that",
                hint: "'vault run' and 'vault inject' may be")
        case .protocolViolation:
            self.init(
                .failure, "the agent has another version", hint: "end it with 'vault agent --stop', and unlock again")
        case .unanswered: self.init(.locked, "nobody answered the request for the passphrase")
        case .busy: self.init(.busy, "the agent does not answer, or has too many clients", hint: "try again")
        }
    }

    private init(_ flaw: ParameterFlaw) {
        switch flaw {
        case .classMissing: self.init(.usage, "a class is missing")
        case .attributeValue(let name): self.init(.usage, "not a value for the attribute '\(name)'")
        case .persistentReference, .attributesWithReference: self.init(.usage, "not a persistent reference")
        case .limit: self.init(.usage, "a change applies to every matching item")
        case .matchKey, .key: self.init(.usage, "not a key for this call")
        case .userAttributeName: self.init(.usage, "the name of an attribute has 1 to 255 bytes")
        case .fieldName: self.init(.usage, "the name of a field has 1 to 255 bytes and no control characters")
        }
    }

    init(_ error: StorageError) {
        switch error {
        case .noVault: self.init(.noVault, "there is no vault here yet", hint: "create one: 'vault init'")
        case .alreadyExists:
            self.init(
                .alreadyExists, "the file exists already, and was left unchanged",
                hint: "choose another one: --vault FILE")
        case .refused(let refusal): self.init(refusal)
        case .damaged(.notAVault):
            self.init(
                .damaged, "this is not a vault, or only a part of one",
                hint: "--vault FILE or $VAULT_FILE names the vault; if this was one, 'vault restore' puts a backup back"
            )
        case .damaged(let damage):
            self.init(
                .damaged, "the vault is damaged or was tampered with: \(CommandError.describe(damage))",
                hint: "restore a backup, or recover the rest with 'vault salvage'; nothing was written")
        case .unsupported(let field):
            self.init(
                .unsupported, "the vault was written by a newer version (\(field.rawValue))", hint: "upgrade vault")
        case .wrongPassphrase: self.init(.wrongPassphrase, "wrong passphrase")
        case .unacceptableKeyFile: self.init(.usage, "a key file has 32 bytes to 1 MiB")
        case .unacceptablePassphrase(let flaw): self.init(.usage, "the passphrase \(CommandError.describe(flaw))")
        case .unacceptableRecoveryCode(.length):
            self.init(.usage, "a recovery code has eight groups of five characters")
        case .unacceptableRecoveryCode(.group(let group)):
            self.init(
                .usage, "the recovery code is mistyped in group \(group) of 8",
                hint: "compare that group with your written copy")
        case .noMatchingSlot: self.init(.locked, "the vault has no slot for this", hint: "see 'vault slot list'")
        case .slot(let flaw): self.init(flaw)
        case .machineSecret(let flaw): self.init(flaw)
        case .busy: self.init(.busy, "another process holds the lock of the vault", hint: "see 'vault doctor'")
        case .resourceUnavailable:
            self.init(
                .resources, "not enough memory for the key derivation",
                hint: "free some, or make the vault with '--kdf interactive'")
        case .inputOutput(let errno, let task):
            self.init(.inputOutput, "cannot \(task.phrase): \(errno.description.lowercased())")
        case .indeterminate(let errno):
            self.init(
                .unknownOutcome,
                "the disk failed while saving (\(errno.description.lowercased())): the change may have been saved",
                hint: "look with 'vault find'")
        case .poisoned: self.init(.inputOutput, "an earlier failure made the handle unusable")
        case .rekeyed: self.init(.locked, "the vault has a new key", hint: "unlock it again")
        case .rolledBack:
            self.init(
                .rolledBack,
                "the vault is older than the newest state seen on this device, or was replaced by another one",
                hint: "put the newer file back; or, to keep this one: 'vault verify --accept-older --yes'")
        case .locked: self.init(.locked, "the vault is locked")
        case .forked: self.init(.failure, "the vault was opened by the parent process")
        case .valueTooLarge: self.init(.usage, "a secret has at most 16 MiB")
        case .attributesTooLarge: self.init(.usage, "the attributes of an item have at most 64 KiB")
        case .noStateDirectory:
            self.init(
                .inputOutput, "there is no directory for the secret of this device", hint: "set HOME or XDG_STATE_HOME")
        }
    }

    /// Makes the error with the name of the file concerned.
    init(_ error: VaultError, at path: FilePath) {
        self.init(error)
        if case .storage(let error) = error { name(path, in: error) }
    }

    private mutating func name(_ path: FilePath, in error: StorageError) {
        let name = "'\(path.string.printable)'"
        switch error {
        // The file concerned is another one, named in the message.
        case .refused(.deviceSecret): break
        case .noVault: message = "there is no vault at \(name) yet"
        case .alreadyExists, .refused, .damaged, .unsupported, .busy, .inputOutput, .indeterminate, .rolledBack:
            message += " (\(name))"
        default: break
        }
    }

    private init(_ flaw: SlotFlaw) {
        switch flaw {
        case .full: self.init(.failure, "the vault already has eight slots", hint: "'vault slot remove' makes room")
        case .cost:
            self.init(
                .failure, "the key derivations of all slots would cost more than 32 GiB-passes",
                hint: "choose a cheaper derivation with --kdf, or make room with 'vault slot remove'")
        case .annexFull:
            self.init(
                .failure, "there is no more room for the secrets of this machine",
                hint: "'vault slot remove' makes room")
        case .lastForPeople:
            self.init(
                .failure, "nobody could open the vault afterwards",
                hint: "add a passphrase or a recovery code first: 'vault slot add'")
        case .noSuchSlot: self.init(.notFound, "there is no such slot", hint: "see 'vault slot list'")
        case .changed:
            self.init(
                .changed, "another process has changed the slots",
                hint: "see 'vault slot list', and try again")
        case .name:
            self.init(
                .alreadyExists, "a slot's name has 1 to 32 bytes and must be unique", hint: "choose one with --name"
            )
        }
    }

    private init(_ flaw: MachineFlaw) {
        switch flaw {
        case .noTool:
            self.init(
                .locked, "there is no systemd-creds, which keeps the secret of this machine",
                hint: "install systemd 250 or later")
        case .failed:
            self.init(
                .locked,
                """
                this machine does not give the vault's secret: it is another machine, its TPM2 chip is gone, or it is \
                not root's to ask
                """,
                hint: "use another way: --passphrase-file FILE, --recovery-code-file FILE; see 'vault slot list'")
        case .cannotSeal:
            self.init(
                .failure,
                "this machine keeps no secret: there is no TPM2 chip, a register is invalid, or only root may use it",
                hint: "see 'systemd-creds has-tpm2'; a key file needs no TPM2: 'vault slot add key-file'")
        case .timedOut:
            self.init(.busy, "systemd-creds did not answer", hint: "try again, or use another way to unlock")
        case .noDevice:
            self.init(.usage, "this is not a TPM2 device: '/dev/…', or 'swtpm:…', 'tabrmd:…', 'mssim:…', 'device:…'")
        case .unknownProvider:
            self.init(
                .unsupported, "the secret of this machine has a form that this version does not know",
                hint: "upgrade vault")
        }
    }

    private init(_ refusal: Refusal) {
        switch refusal {
        case .notARegularFile: self.init(.inputOutput, "the vault is not a regular file")
        case .foreignOwner: self.init(.inputOutput, "the file belongs to another user")
        case .accessibleByOthers:
            self.init(
                .inputOutput, "others may read or write the vault", hint: "chmod 600 it, then look for what they did")
        case .severalLinks: self.init(.inputOutput, "the vault has several hard links, which a rewrite would part")
        case .nameTooLong: self.init(.inputOutput, "the name of a vault file has at most 233 bytes")
        case .deviceSecret:
            self.init(
                .inputOutput,
                "the secret of this device, below $XDG_STATE_HOME/vault, is not 32 bytes that only the user can read")
        case .directoryWritableByOthers:
            self.init(
                .inputOutput, "anybody may replace files in the vault's directory", hint: "chmod o-w the directory")
        case .directoryWritableByGroup:
            self.init(
                .inputOutput, "a group may replace files in the vault's directory", hint: "chmod g-w the directory")
        }
    }

    private static func describe(_ damage: Damage) -> String {
        switch damage {
        case .notAVault: "this is not a vault, or only a part of one"
        case .headerChecksum: "the header does not match its checksum"
        case .header: "no version writes a header like this"
        case .headerMAC: "the header is not the one that was written"
        case .keySlot: "a key slot lacks its declared content"
        case .marks: "neither commit mark is valid"
        case .markMismatch(let sequence): "commit \(sequence) is not the one that was marked"
        case .missingCommits(let found, let expected): "commits \(found + 1) to \(expected) are missing"
        case .frame(let sequence, _): "frame \(sequence) makes no sense"
        case .values(let sequence): "the values of frame \(sequence) were changed"
        case .value: "a secret is not the one that was written"
        case .readBack: "the rewritten file could not be read back"
        }
    }

    private static func describe(_ flaw: PassphraseFlaw) -> String {
        switch flaw {
        case .empty: "is empty"
        case .tooLong: "is longer than 1024 bytes"
        case .invalidUTF8: "is not UTF-8"
        case .controlCharacter: "has a control character"
        }
    }
}

extension VaultError {
    /// Makes the error of the storage, outside of a vault.
    init(storage error: StorageError) { self = error == .locked ? .locked : .storage(error) }
}

extension FileTask {
    fileprivate var phrase: String {
        switch self {
        case .resolve: "follow the path"
        case .createDirectory: "make the directory"
        case .openDirectory: "open the directory"
        case .open: "open the file"
        case .read: "read the file"
        case .write: "write the file"
        case .reserve: "reserve disk space"
        case .truncate: "shorten the file"
        case .synchronize: "sync the file"
        case .lock: "lock the vault"
        case .rename: "put the new file in its place"
        case .list: "list the directory"
        case .remove: "remove a file"
        }
    }
}

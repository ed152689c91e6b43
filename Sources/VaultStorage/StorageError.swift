// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
public import VaultFormat
internal import VaultSystem

/// The errors of a vault file.
public enum StorageError: Error, Equatable, Sendable {
    /// There is no file at the path.
    case noVault
    /// A file already exists at the path of a new vault; it is untouched.
    case alreadyExists
    /// The file or its directory does not meet the requirements for a vault.
    case refused(Refusal)
    /// Bytes are missing or changed: the file is damaged or was tampered with. Nothing was written.
    case damaged(Damage)
    /// Data of a newer version of the format, or a newer feature.
    case unsupported(FormatField)
    /// No slot opens with this passphrase or key file.
    case wrongPassphrase
    /// The passphrase is empty, too long, not UTF-8, or contains control characters.
    case unacceptablePassphrase(PassphraseFlaw)
    /// The key file does not have 32 bytes to 1 MiB.
    case unacceptableKeyFile
    /// A recovery code was mistyped.
    case unacceptableRecoveryCode(RecoveryCodeFlaw)
    /// The vault has no slot for this kind of secret.
    case noMatchingSlot
    /// A change of the key slots that would lock people out or does not fit.
    case slot(SlotFlaw)
    /// This machine cannot recover the secret of an external slot, or cannot seal one.
    case machineSecret(MachineFlaw)
    /// Another process held the writer lock for 30 seconds.
    case busy
    /// The key derivation needs memory that the system cannot provide.
    case resourceUnavailable
    /// A system call failed; nothing changed.
    case inputOutput(Errno, FileTask)
    /// A system call failed and could not be rolled back: the change is present or it is not. Open the vault again to
    /// see.
    case indeterminate(Errno)
    /// An earlier failure made this handle unusable. Open the vault again.
    case poisoned
    /// The vault has a new vault key since it was unlocked. Open it again.
    case rekeyed
    /// The file is an older copy of one that this handle or device has seen, or another vault has replaced it.
    case rolledBack
    /// The vault is locked: the key required for this was wiped.
    case locked
    /// The handle belongs to the parent process. Open the vault again in the child.
    case forked
    /// The value has more than 16 MiB.
    case valueTooLarge
    /// The item's attributes take more than 64 KiB.
    case attributesTooLarge
    /// There is no directory for the secret of this device.
    case noStateDirectory
}

extension StorageError {
    /// Whether the file now at the path is not the one that the handle had open: the handle's knowledge is then the
    /// only evidence.
    var isOfAnotherFile: Bool {
        switch self {
        case .noVault, .refused, .damaged, .unsupported, .rekeyed, .rolledBack: true
        default: false
        }
    }
}

/// The reason why key slots were not changed.
public enum SlotFlaw: String, Sendable {
    /// There are eight already.
    case full
    /// The blobs of external slots do not fit.
    case annexFull
    /// Trying all slots of one kind would cost more than 32 GiB-passes.
    case cost
    /// No person could open the vault any more.
    case lastForPeople
    /// No slot has this identifier.
    case noSuchSlot
    /// Another process has changed the slots meanwhile.
    case changed
    /// The name is taken, empty or longer than 32 bytes.
    case name
}

/// The reason why a machine did not provide a secret.
public enum MachineFlaw: String, Sendable {
    /// systemd-creds(1) is missing.
    case noTool
    /// The secret cannot be unsealed: the chip is missing or another one, or the system is another.
    case failed
    /// The secret cannot be sealed: there is no chip, or the caller lacks permission.
    case cannotSeal
    /// The tool or the device did not answer in time.
    case timedOut
    /// The name is neither a device nor a driver that talks to one.
    case noDevice
    /// The secret is kept by a provider that this version does not support.
    case unknownProvider
}

/// The reason why a file or its directory is not trusted.
public enum Refusal: UInt8, Sendable, CaseIterable {
    /// A directory, a device or a pipe.
    case notARegularFile = 1
    case foreignOwner, accessibleByOthers, severalLinks, directoryWritableByOthers, directoryWritableByGroup,
        nameTooLong
    /// The file with the secret of this device is not 32 bytes readable by the user only.
    case deviceSecret
}

/// The operation during which a system call failed.
public enum FileTask: String, Sendable {
    case resolve, createDirectory, openDirectory, open, read, write, reserve, truncate, synchronize, lock, rename, list,
        remove
    /// The agent's audit log is written, without which the agent hands out nothing.
    case log
}

/// The kind of damage to a file.
public enum Damage: Equatable, Sendable {
    /// Shorter than a vault's header and marks, or with another beginning.
    case notAVault
    /// The checksum of the header does not match.
    case headerChecksum
    /// A header field has a value that no writer produces.
    case header(FormatError)
    /// The header was not made by the vault key.
    case headerMAC
    /// A slot's box does not contain what its commitment promises.
    case keySlot
    /// Neither commit mark is valid.
    case marks
    /// A mark and the frame at its position differ.
    case markMismatch(sequence: UInt64)
    /// Acknowledged commits are missing.
    case missingCommits(found: UInt64, expected: UInt64)
    /// A frame's metadata does not open or is invalid.
    case frame(sequence: UInt64, FormatError?)
    /// The values of a frame are not as written.
    case values(sequence: UInt64)
    /// The value of an item is not the one named by its metadata.
    case value(ItemID)
    /// A rewritten file could not be read back.
    case readBack
}

extension StorageError {
    package init(_ error: CryptoError) {
        self =
            switch error {
            case .authenticationFailed: .wrongPassphrase
            case .outOfMemory, .unavailable: .resourceUnavailable
            case .unacceptablePassphrase(let flaw): .unacceptablePassphrase(flaw)
            case .unacceptableKeyFile: .unacceptableKeyFile
            case .unacceptableRecoveryCode(let flaw): .unacceptableRecoveryCode(flaw)
            }
    }
}

// MARK: Texts

// Each error has one text, for the library's sentences and the command's messages: lower case, without a full stop, a
// secret or an attribute value.

extension StorageError {
    package var text: String {
        switch self {
        case .noVault: "there is no vault here yet"
        case .alreadyExists: "the file exists already, and was left unchanged"
        case .refused(let refusal): refusal.text
        case .damaged(.notAVault): Damage.notAVault.text
        case .damaged(let damage): "the vault is damaged or was tampered with: \(damage.text)"
        case .unsupported(let field): "the vault was written by a newer version (\(field.rawValue))"
        case .wrongPassphrase: "wrong passphrase"
        case .unacceptableKeyFile: "a key file has 32 bytes to 1 MiB"
        case .unacceptablePassphrase(let flaw): "the passphrase \(flaw.text)"
        case .unacceptableRecoveryCode(.length): "a recovery code has eight groups of five characters"
        case .unacceptableRecoveryCode(.group(let group)): "the recovery code is mistyped in group \(group) of 8"
        case .noMatchingSlot: "the vault has no slot for this"
        case .slot(let flaw): flaw.text
        case .machineSecret(let flaw): flaw.text
        case .busy: "another process holds the lock of the vault"
        case .resourceUnavailable: "not enough memory for the key derivation"
        case .inputOutput(let errno, let task): "cannot \(task.text): \(errno.text)"
        case .indeterminate(let errno):
            "the disk failed while saving (\(errno.text)): the change may have been saved"
        case .poisoned: "an earlier failure made the handle unusable"
        case .rekeyed: "the vault has a new key"
        case .rolledBack:
            "the vault is older than the newest state seen on this device, or was replaced by another one"
        case .locked: "the vault is locked"
        case .forked: "the vault was opened by the parent process"
        case .valueTooLarge: "a secret has at most 16 MiB"
        case .attributesTooLarge: "the attributes of an item have at most 64 KiB"
        case .noStateDirectory: "there is no directory for the secret of this device"
        }
    }
}

extension String {
    /// The text with a capital letter and a full stop.
    package var sentence: String { prefix(1).uppercased() + dropFirst() + "." }
}

extension SlotFlaw {
    fileprivate var text: String {
        switch self {
        case .full: "the vault already has eight slots"
        case .cost: "the key derivations of all slots would cost more than 32 GiB-passes"
        case .annexFull: "the header has no more room for such a slot"
        case .lastForPeople: "nobody could open the vault afterwards"
        case .noSuchSlot: "there is no such slot"
        case .changed: "another process has changed the slots"
        case .name: "a slot's name has 1 to 32 bytes and must be unique"
        }
    }
}

extension MachineFlaw {
    fileprivate var text: String {
        switch self {
        case .noTool: "there is no systemd-creds, which keeps the secret of this machine"
        case .failed:
            """
            this machine does not give the vault's secret: it is another machine, its TPM2 chip is gone, or it is not \
            root's to ask
            """
        case .cannotSeal:
            "this machine keeps no secret: there is no TPM2 chip, a register is invalid, or only root may use it"
        case .timedOut: "systemd-creds did not answer"
        case .noDevice: "this is not a TPM2 device: '/dev/…', or 'swtpm:…', 'tabrmd:…', 'mssim:…', 'device:…'"
        case .unknownProvider: "the secret of this machine has a form that this version does not know"
        }
    }
}

extension Refusal {
    fileprivate var text: String {
        switch self {
        case .notARegularFile: "the vault is not a regular file"
        case .foreignOwner: "the file belongs to another user"
        case .accessibleByOthers: "others may read or write the vault"
        case .severalLinks: "the vault has several hard links, which a rewrite would part"
        case .nameTooLong: "the name of a vault file has at most 233 bytes"
        case .deviceSecret:
            "the secret of this device, below $XDG_STATE_HOME/vault, is not 32 bytes that only the user can read"
        case .directoryWritableByOthers: "anybody may replace files in the vault's directory"
        case .directoryWritableByGroup: "a group may replace files in the vault's directory"
        }
    }
}

extension Damage {
    fileprivate var text: String {
        switch self {
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
}

extension PassphraseFlaw {
    fileprivate var text: String {
        switch self {
        case .empty: "is empty"
        case .tooLong: "is longer than 1024 bytes"
        case .invalidUTF8: "is not UTF-8"
        case .controlCharacter: "has a control character"
        }
    }
}

extension FileTask {
    fileprivate var text: String {
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
        case .log: "write the agent's audit log"
        }
    }
}

// MARK: Apple's numbers

extension StorageError {
    /// Apple's `OSStatus` of the same meaning.
    package var status: Int32 {
        switch self {
        // errSecAuthFailed
        case .wrongPassphrase, .unacceptablePassphrase, .unacceptableKeyFile: -25293
        // errSecDataTooLarge
        case .valueTooLarge, .attributesTooLarge: -25302
        // errSecAllocate
        case .resourceUnavailable: -108
        // errSecInteractionNotAllowed
        case .locked: -25308
        // errSecReadOnly
        case .inputOutput(.readOnlyFileSystem, _), .inputOutput(.permissionDenied, .write): -25292
        // errSecIO
        case .inputOutput(.ioError, _), .indeterminate: -36
        // errSecNotAvailable
        default: -25291
        }
    }
}

// MARK: Conversions

/// Runs a call of the port and adds the task to its error.
func attempt<R>(_ task: FileTask, _ call: @autoclosure () throws(Errno) -> R) throws(StorageError) -> R {
    do throws(Errno) { return try call() } catch { throw .inputOutput(error, task) }
}

/// Runs cryptography and converts its error.
func secured<R: ~Copyable>(_ body: @autoclosure () throws(CryptoError) -> R) throws(StorageError) -> R {
    do throws(CryptoError) { return try body() } catch { throw StorageError(error) }
}

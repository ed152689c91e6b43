// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
public import VaultFormat

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
    case timedOut
    /// The name is neither a device nor a driver that talks to one.
    case noDevice
    /// The secret is kept by a provider that this version does not support.
    case unknownProvider
}

public enum Refusal: UInt8, Sendable, CaseIterable {
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
    public init(_ error: CryptoError) {
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

/// Runs a call of the port and adds the task to its error.
func attempt<R>(_ task: FileTask, _ call: @autoclosure () throws(Errno) -> R) throws(StorageError) -> R {
    do throws(Errno) { return try call() } catch { throw .inputOutput(error, task) }
}

/// Runs cryptography and converts its error.
func secured<R: ~Copyable>(_ body: @autoclosure () throws(CryptoError) -> R) throws(StorageError) -> R {
    do throws(CryptoError) { return try body() } catch { throw StorageError(error) }
}

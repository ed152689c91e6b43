// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
public import VaultFormat

/// What can go wrong with a vault file.
public enum StorageError: Error, Equatable, Sendable {
    /// There is no file at the path.
    case noVault
    /// A file is in the way of a new vault; it is untouched.
    case alreadyExists
    /// The file or its directory is not what a vault may be.
    case refused(Refusal)
    /// Bytes are missing or changed: the file is damaged or was tampered with. Nothing was written.
    case damaged(Damage)
    /// A newer version of the format, or a feature of one.
    case unsupported(FormatField)
    /// No slot opens with this passphrase or key file.
    case wrongPassphrase
    /// The passphrase is empty, too long, not UTF-8 or holds control characters.
    case unacceptablePassphrase(PassphraseFlaw)
    /// A key file has 32 bytes to 1 MiB.
    case unacceptableKeyFile
    /// A recovery code was mistyped.
    case unacceptableRecoveryCode(RecoveryCodeFlaw)
    /// No slot of the vault takes this kind of secret.
    case noMatchingSlot
    /// A change of the key slots that would shut people out, or that has no room.
    case slot(SlotFlaw)
    /// This machine does not give the secret of an external slot, or cannot seal one.
    case machineSecret(MachineFlaw)
    /// Another process kept the writer lock for 30 seconds.
    case busy
    /// The key derivation asks for memory that the system cannot give.
    case resourceUnavailable
    /// A system call failed; nothing changed.
    case inputOutput(Errno, FileTask)
    /// A system call failed and what it had begun could not be taken back: the change is there or it is not. Open the
    /// vault again to see.
    case indeterminate(Errno)
    /// An earlier failure made this handle useless. Open the vault again.
    case poisoned
    /// The vault has got a new vault key since it was unlocked. Open it again.
    case rekeyed
    /// The file is an older copy of one that this handle, or this device, has seen; or another vault has taken its
    /// place.
    case rolledBack
    /// The vault is locked: the key that this needs has been wiped.
    case locked
    /// The handle belongs to the parent process. Open the vault again in the child.
    case forked
    /// A value has more than 16 MiB.
    case valueTooLarge
    /// An item's attributes take more than 64 KiB.
    case attributesTooLarge
    /// There is nowhere to keep the secret of this device.
    case noStateDirectory
}

extension StorageError {
    /// Whether what is at the path now is not what a handle had open: what the handle knows is then all that there is
    /// to know it by.
    var isOfAnotherFile: Bool {
        switch self {
        case .noVault, .refused, .damaged, .unsupported, .rekeyed, .rolledBack: true
        default: false
        }
    }
}

/// Why key slots stay as they are.
public enum SlotFlaw: String, Sendable {
    /// There are eight already.
    case full
    /// The blobs of external slots have no more room.
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

/// Why a machine did not give a secret.
public enum MachineFlaw: String, Sendable {
    /// There is no systemd-creds(1).
    case noTool
    /// It could not: there is no chip, it is another one, or the system is.
    case failed
    /// It could not keep one: there is no chip, or the caller may not ask it.
    case cannotSeal
    case timedOut
    /// What was named is no device and none of the drivers that talk to one.
    case noDevice
    /// The vault keeps it with something that this version cannot ask.
    case unknownProvider
}

public enum Refusal: UInt8, Sendable, CaseIterable {
    case notARegularFile = 1
    case foreignOwner, accessibleByOthers, severalLinks, directoryWritableByOthers, directoryWritableByGroup,
        nameTooLong
    /// The file with the secret of this device is not 32 bytes that only the user can read.
    case deviceSecret
}

/// What was being done when a system call failed.
public enum FileTask: String, Sendable {
    case resolve, createDirectory, openDirectory, open, read, write, reserve, truncate, synchronize, lock, rename, list,
        remove
}

/// Where a file is damaged.
public enum Damage: Equatable, Sendable {
    /// Shorter than a vault's header and marks, or not beginning as one.
    case notAVault
    /// The checksum of the header does not match.
    case headerChecksum
    /// A field of the header has a value that no writer makes.
    case header(FormatError)
    /// The header is not the one that the vault key made.
    case headerMAC
    /// A slot's box does not hold what its commitment promises.
    case keySlot
    /// Neither commit mark is valid.
    case marks
    /// A mark and the frame at its place differ.
    case markMismatch(sequence: UInt64)
    /// Commits that were acknowledged are missing.
    case missingCommits(found: UInt64, expected: UInt64)
    /// A frame's metadata does not open or makes no sense.
    case frame(sequence: UInt64, FormatError?)
    /// The values of a frame are not those that were written.
    case values(sequence: UInt64)
    /// The value of an item is not the one that its metadata names.
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

/// Runs a call of the port and says what it was for when it fails.
func attempt<R>(_ task: FileTask, _ call: @autoclosure () throws(Errno) -> R) throws(StorageError) -> R {
    do throws(Errno) { return try call() } catch { throw .inputOutput(error, task) }
}

/// Runs cryptography and converts what it throws.
func secured<R: ~Copyable>(_ body: @autoclosure () throws(CryptoError) -> R) throws(StorageError) -> R {
    do throws(CryptoError) { return try body() } catch { throw StorageError(error) }
}

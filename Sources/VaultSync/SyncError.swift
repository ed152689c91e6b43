// SPDX-License-Identifier: Apache-2.0
package import Vault
internal import VaultCrypto
package import VaultFormat
internal import VaultStorage

/// Why a sync, or a change of the fleet, did not happen.
package enum SyncError: Error, Equatable, Sendable {
    case store(RecordStoreError)
    /// A text is no URL of a remote: what such a URL looks like.
    case url(String)
    case vault(VaultError)
    case format(FormatError)
    /// The roster has no such device any more: exit 24.
    case removed
    /// The vault has no identity in a fleet, or that of another machine.
    case notJoined
    case alreadyJoined
    /// What was found stops everything: exit 20, 22 or 23.
    case alarm(Alarm)
    /// An owner is needed for that.
    case notAnOwner
    case noSuchDevice
    case noSuchRemote
    /// The folder has the records of another fleet.
    case remoteInUse
    /// Nobody has answered, or asked, with this code.
    case noAnswer
    /// The recovery code is none of this realm's.
    case wrongRecoveryCode
    /// Another sync of this vault is under way.
    case busy
    /// A value, or the list of devices, is larger than what a record holds.
    case tooLarge
    /// More logs than a file can number.
    case tooManyLogs
    /// A verb has changed the items between a look and the commit that follows from it: another try finds them.
    case overtaken
}

extension SyncError {
    /// Whether a record is to blame, and not what it was read from.
    var isOfRecord: Bool {
        switch self {
        case .alarm, .removed, .format: true
        default: false
        }
    }

    /// Whether items cannot be kept as they are, on whatever disk.
    var isOfItems: Bool {
        switch self {
        case .tooManyLogs, .tooLarge, .format, .vault(.parameter), .vault(.itemChanged), .vault(.storage(.damaged)),
            .vault(.storage(.valueTooLarge)), .vault(.storage(.attributesTooLarge)):
            true
        default: false
        }
    }
}

/// Something about records that must not be, and what came of it.
package struct Alarm: Error, Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// A record was changed, or is none: exit 20.
        case damaged
        /// A record that no member wrote: exit 20.
        case forged
        /// Two records at one address: exit 23.
        case forked
        /// What others cite is not shown: exit 22.
        case withheld
        /// The remote has less than it had: exit 22 unless it was healed.
        case rolledBack = "rolled back"
        /// A device with the same records has other items: exit 22.
        case diverged
    }

    package let kind: Kind
    /// Nil: the roster.
    package let log: LogID?
    package let sequence: UInt64
    package let what: String

    package init(_ kind: Kind, _ log: LogID?, _ sequence: UInt64 = 0, _ what: String) {
        (self.kind, self.log, self.sequence, self.what) = (kind, log, sequence, what)
    }
}

func stored<R: ~Copyable>(_ body: () throws(RecordStoreError) -> R) throws(SyncError) -> R {
    do throws(RecordStoreError) { return try body() } catch { throw .store(error) }
}

func vaulted<R: ~Copyable>(_ body: () throws(VaultError) -> R) throws(SyncError) -> R {
    do throws(VaultError) { return try body() } catch { throw .vault(error) }
}

func secured<R: ~Copyable>(_ body: () throws(CryptoError) -> R) throws(SyncError) -> R {
    do throws(CryptoError) { return try body() } catch { throw .vault(.storage(StorageError(error))) }
}

func formed<R: ~Copyable>(_ body: () throws(FormatError) -> R) throws(SyncError) -> R {
    do throws(FormatError) { return try body() } catch { throw .format(error) }
}

func secure(_ error: CryptoError) -> SyncError { .vault(.storage(StorageError(error))) }

// SPDX-License-Identifier: Apache-2.0
package import Vault
internal import VaultCrypto
package import VaultFormat
internal import VaultStorage

/// The reason why a sync, or a change of the fleet, did not happen.
package enum SyncError: Error, Equatable, Sendable {
    case store(RecordStoreError)
    /// A text is not the URL of a remote; the payload describes such a URL.
    case url(String)
    case vault(VaultError)
    case format(FormatError)
    /// The roster no longer lists this device: exit 24.
    case removed
    /// The device joined with a part of the items, by an earlier release: it sends and takes nothing.
    case isFiltered
    /// The vault has no identity in a fleet, or has another machine's.
    case notJoined
    case alreadyJoined
    /// A finding that stops everything: exit 20, 22 or 23.
    case alarm(Alarm)
    /// The change requires an owner.
    case notAnOwner
    case noSuchDevice
    /// Several devices have the name; the identifier of each is unique.
    case ambiguousDevice([NamedDevice])
    case noSuchRemote
    /// The folder has the records of another fleet.
    case remoteInUse
    /// No device has answered or asked with this code.
    case noAnswer
    /// The recovery code does not belong to this realm.
    case wrongRecoveryCode
    /// Another sync of this vault is under way.
    case busy
    /// A value or the list of devices exceeds the size of a record.
    case tooLarge
    /// More logs than a file can number.
    case tooManyLogs
    /// A verb has changed the items between a look and the commit that depends on it. Another try sees the change.
    case overtaken
}

extension SyncError {
    /// Whether a record is to blame, and not its store.
    var isOfRecord: Bool {
        switch self {
        case .alarm, .removed, .format: true
        default: false
        }
    }

    /// Whether items cannot be stored in their form, on any disk.
    var isOfItems: Bool {
        switch self {
        case .tooManyLogs, .tooLarge, .format, .vault(.parameter), .vault(.itemChanged), .vault(.storage(.damaged)),
            .vault(.storage(.valueTooLarge)), .vault(.storage(.attributesTooLarge)):
            true
        default: false
        }
    }
}

/// An impossible or forbidden finding in records, and its effect.
package struct Alarm: Error, Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// A record was changed or is malformed: exit 20.
        case damaged
        /// A record that no member wrote: exit 20.
        case forged
        /// Two records at one address: exit 23.
        case forked
        /// Other devices cite a record that the remote does not show: exit 22.
        case withheld
        /// The remote has less than before: exit 22 unless it was healed.
        case rolledBack = "rolled back"
        /// A device with the same records has other items: exit 22.
        case diverged
    }

    package let kind: Kind
    /// `nil` stands for the roster.
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

// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
public import VaultStorage

/// What the calls of a vault can end with. The numbers are Apple's `OSStatus` of the same meaning.
public enum VaultError: Error, Equatable, Sendable {
    /// A query or an item that says something impossible: errSecParam, -50.
    case parameter(ParameterFlaw)
    /// The class has no such attribute: errSecNoSuchAttr, -25303.
    case noSuchAttribute(String)
    /// There is no such class, or a persistent reference is of another: errSecNoSuchClass, -25306.
    case noSuchClass
    /// An item with this primary key exists: errSecDuplicateItem, -25299.
    case duplicateItem
    /// Nothing matches: errSecItemNotFound, -25300.
    case itemNotFound
    /// The access group is not one of the caller's: errSecMissingEntitlement, -34018.
    case accessGroupDenied
    /// The vault is locked, and the item can be read while unlocked only: errSecInteractionNotAllowed, -25308.
    case locked
    /// A person has to give the vault's passphrase for this call first, which the item's access control demands, and
    /// nobody can be asked: errSecInteractionNotAllowed, -25308. An agent has a person asked; a vault that is open in
    /// this process never does.
    case presenceRequired
    /// Not built for this class: errSecUnimplemented, -4.
    case unimplemented
    /// The item is not at the version that the update demands.
    case versionMismatch
    /// What is stored where a device identifier should be is none.
    case notADeviceIdentifier
    /// The item has another value than when it was found. Find it again.
    case itemChanged
    /// The vault was closed. Open it again.
    case closed
    /// The vault was called inside a transaction of its own, which would wait for itself for ever. Call the
    /// transaction.
    case insideTransaction
    /// The value is of another shape than the type that was asked for: errSecDecode, -26275. The path leads to the
    /// first part that does not fit, such as `servers[2].port`; empty: the value itself.
    case valueMismatch(path: String)
    /// The program's own conversion of a value of an older shape threw this: errSecDecode, -26275.
    case migrationFailed(MigrationFailure)
    /// The task was cancelled before the call began, or a person who was asked has said no. Nothing was done:
    /// errSecUserCanceled, -128.
    case cancelled
    /// The file, its keys or the disk: errSecNotAvailable, -25291, or errSecIO, -36.
    case storage(StorageError)
    /// The agent that keeps the vault open cannot be asked, or will not answer: errSecNotAvailable, -25291.
    case agent(AgentFlaw)
}

/// Why an agent did not do what it was asked.
public enum AgentFlaw: UInt8, Sendable, CaseIterable {
    /// It ended, and nothing was asked of it.
    case notRunning = 1
    /// It ended, or closed the connection. What a change in flight became of is not known.
    case gone
    /// It is the agent of another vault.
    case otherVault
    /// Its policy does not let this process do that.
    case refused
    /// It speaks another version of the protocol, or said something that makes no sense.
    case protocolViolation
    /// It has as many clients, or requests, as it takes.
    case busy
    /// The person who was asked has not answered in time.
    case unanswered
}

/// What is wrong with a query or an item.
public enum ParameterFlaw: Equatable, Sendable {
    case classMissing
    /// The attribute does not take a value of this type, or no such value.
    case attributeValue(String)
    case persistentReference
    /// Attributes beside a persistent reference.
    case attributesWithReference
    case limit
    case matchKey
    /// A key of Apple's dictionaries that is unknown or out of place, or the value of one.
    case key(String)
    /// A user attribute's name has 1 to 255 bytes.
    case userAttributeName
    /// A field's name has 1 to 255 bytes and no control characters.
    case fieldName
}

extension VaultError {
    init(_ error: StorageError) {
        switch error {
        case .locked: self = .locked
        default: self = .storage(error)
        }
    }
}

/// Runs a call of the storage and converts what it throws.
func stored<R: ~Copyable>(_ body: @autoclosure () throws(StorageError) -> R) throws(VaultError) -> R {
    do throws(StorageError) { return try body() } catch { throw VaultError(error) }
}

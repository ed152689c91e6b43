// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
internal import VaultFormat
public import VaultStorage

/// The errors of a vault's calls. The numbers are Apple's `OSStatus` of the same meaning.
public enum VaultError: Error, Equatable, Sendable {
    /// A contradictory or invalid query or item: errSecParam, -50.
    case parameter(ParameterFlaw)
    /// The class has no such attribute: errSecNoSuchAttr, -25303.
    case noSuchAttribute(String)
    /// There is no such class, or a persistent reference is of another: errSecNoSuchClass, -25306.
    case noSuchClass
    /// An item with this primary key exists: errSecDuplicateItem, -25299.
    case duplicateItem
    /// Nothing matches: errSecItemNotFound, -25300.
    case itemNotFound
    /// The access group does not belong to the caller: errSecMissingEntitlement, -34018.
    case accessGroupDenied
    /// The vault is locked, and the item is readable only while unlocked: errSecInteractionNotAllowed, -25308.
    case locked
    /// The item's access control requires the vault's passphrase to be entered for this call, and no person can be
    /// asked: errSecInteractionNotAllowed, -25308. An agent can ask a person; a vault open in this process never does.
    case presenceRequired
    /// Not supported for this class: errSecUnimplemented, -4.
    case unimplemented
    /// The item does not have the version that the update requires.
    case versionMismatch
    /// The item stored in the place of a device identifier is not one.
    case notADeviceIdentifier
    /// The item's value was replaced since it was found. Find it again.
    case itemChanged
    /// The vault was closed. Open it again.
    case closed
    /// The vault was called inside a transaction of its own, which would deadlock. Call the transaction.
    case insideTransaction
    /// The value does not have the shape of the requested type: errSecDecode, -26275. The path leads to the first
    /// mismatch, such as `servers[2].port`; empty for the value itself.
    case valueMismatch(path: String)
    /// The program's own conversion of an older value failed with this error: errSecDecode, -26275.
    case migrationFailed(MigrationFailure)
    /// The task was cancelled before the call began, or the person asked has refused. Nothing was done:
    /// errSecUserCanceled, -128.
    case cancelled
    /// An error of the file, its keys or the disk: errSecNotAvailable, -25291, or errSecIO, -36.
    case storage(StorageError)
    /// The agent that keeps the vault open cannot be reached or refuses: errSecNotAvailable, -25291.
    case agent(AgentFlaw)
}

/// The reason why an agent did not carry out a request.
public enum AgentFlaw: UInt8, Sendable, CaseIterable {
    /// The agent is not running, and no request was sent.
    case notRunning = 1
    /// The agent ended or closed the connection. The outcome of a change in flight is unknown.
    case gone
    /// The agent serves another vault.
    case otherVault
    /// The agent's policy denies this to the process.
    case refused
    /// The agent sent an invalid message, or does not know the request.
    case protocolViolation
    /// The agent has reached its limit of clients or requests.
    case busy
    /// The person asked has not answered in time.
    case unanswered
    /// The agent has an older version of the protocol than this program: it was started before an upgrade. End it, and
    /// unlock again.
    case olderVersion
    /// The agent has a newer version of the protocol than this program. End the program, which was started before an
    /// upgrade, or the agent.
    case newerVersion
}

/// The flaw of a query or an item.
public enum ParameterFlaw: Equatable, Sendable {
    /// The query has neither a class nor a persistent reference.
    case classMissing
    /// The attribute does not accept a value of this type, or this value.
    case attributeValue(String)
    /// The bytes are not a persistent reference.
    case persistentReference
    /// Attributes together with a persistent reference.
    case attributesWithReference
    /// A limit of a change, or a number out of its range.
    case limit
    /// A match key of Apple's (`kSecMatch…`) where it has no meaning.
    case matchKey
    /// An unknown or misplaced key of Apple's dictionaries, or an invalid value of one.
    case key(String)
    /// A user attribute's name has 1 to 255 bytes.
    case userAttributeName
    /// A field's name has 1 to 255 bytes and no control characters.
    case fieldName
}

// MARK: Texts and numbers

// Each error has one text, for the library's sentences and the command's messages: lower case, without a full stop, a
// secret or an attribute value.

extension VaultError: LocalizedError {
    /// The error's text as a sentence, without a secret or an attribute value.
    public var errorDescription: String? { text.sentence }
}

extension StorageError: LocalizedError {
    /// The error's text as a sentence, without a secret or an attribute value.
    public var errorDescription: String? { text.sentence }
}

extension VaultError {
    package var text: String {
        switch self {
        case .parameter(let flaw): flaw.text
        case .noSuchAttribute(let name): "the class has no attribute '\(name)'"
        case .noSuchClass: "no such class"
        case .duplicateItem: "an item with this key exists"
        case .itemNotFound: "no such item"
        case .accessGroupDenied: "the access group is not one of the caller's"
        case .locked: "the vault is locked"
        case .presenceRequired:
            "this item requires a person to enter the passphrase, and nobody can be asked"
        case .unimplemented: "not available for items of this class"
        case .versionMismatch: "the item is not at this version"
        case .notADeviceIdentifier: "the item stored as the device identifier holds no identifier"
        case .itemChanged: "the item changed while it was read"
        case .closed: "the vault was used after it was closed"
        case .insideTransaction: "the vault was called inside a transaction of its own"
        case .valueMismatch(let path):
            "the value does not have the expected shape\(path.isEmpty ? "" : ", at '\(path)'")"
        case .migrationFailed: "the value has an older shape, and its conversion failed"
        case .cancelled: "cancelled"
        case .storage(let error): error.text
        case .agent(let flaw): flaw.text
        }
    }

    /// Apple's `OSStatus` of the same meaning, which the case's comment names.
    package var status: Int32 {
        switch self {
        case .parameter: -50
        case .noSuchAttribute: -25303
        case .noSuchClass: -25306
        case .duplicateItem: -25299
        case .itemNotFound: -25300
        // A policy that denies an access is an entitlement that is missing.
        case .accessGroupDenied, .agent(.refused): -34018
        case .locked, .presenceRequired: -25308
        case .unimplemented: -4
        case .versionMismatch, .itemChanged, .notADeviceIdentifier, .insideTransaction: -26276
        case .valueMismatch, .migrationFailed: -26275
        // A dialog that timed out counts as dismissed.
        case .cancelled, .agent(.unanswered): -128
        case .storage(let error): error.status
        case .closed, .agent: -25291
        }
    }
}

extension AgentFlaw {
    fileprivate var text: String {
        switch self {
        case .notRunning: "the agent has ended"
        case .gone: "the agent ended before it answered: the change may have been saved"
        case .otherVault: "the running agent has another vault"
        case .refused: "refused: the agent's policy does not let this program do that"
        case .protocolViolation: "the agent sent an invalid message, or does not know the request"
        case .busy: "the agent does not answer, or has too many clients"
        case .unanswered: "nobody answered the request for the passphrase"
        case .olderVersion: "the agent is older than this program"
        case .newerVersion: "the agent is newer than this program"
        }
    }
}

extension ParameterFlaw {
    fileprivate var text: String {
        switch self {
        case .classMissing: "a class is missing"
        case .attributeValue(let name): "not a value for the attribute '\(name)'"
        case .persistentReference: "not a persistent reference"
        case .attributesWithReference: "a persistent reference does not combine with attributes"
        case .limit: "a change applies to every matching item, and takes no limit"
        case .matchKey: "a match key is out of place"
        case .key(let name):
            name.isEmpty ? "a key is out of place" : "the key '\(name)' is out of place, or its value is"
        case .userAttributeName: "the name of an attribute has 1 to 255 bytes"
        case .fieldName: "the name of a field has 1 to 255 bytes and no control characters"
        }
    }
}

extension VaultError {
    package init(_ error: StorageError) {
        switch error {
        case .locked: self = .locked
        default: self = .storage(error)
        }
    }
}

/// Runs a call of the storage and converts its error.
func stored<R: ~Copyable>(_ body: @autoclosure () throws(StorageError) -> R) throws(VaultError) -> R {
    do throws(StorageError) { return try body() } catch { throw VaultError(error) }
}

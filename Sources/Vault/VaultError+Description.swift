// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import VaultStorage

// The texts of `localizedDescription`, which contain no secrets and no attribute values.

extension VaultError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .parameter(let flaw): "The query or the item is invalid: \(flaw.phrase)."
        case .noSuchAttribute(let name): "The class has no attribute '\(name)'."
        case .noSuchClass: "There is no such class."
        case .duplicateItem: "An item with this primary key exists."
        case .itemNotFound: "Nothing matches."
        case .accessGroupDenied: "The access group is not one of the caller's."
        case .locked: "The vault is locked."
        case .presenceRequired: "This requires a person to enter the vault's passphrase, and nobody can be asked."
        case .unimplemented: "This is not available for items of this class."
        case .versionMismatch: "The item does not have the required version."
        case .notADeviceIdentifier: "The item stored as the device identifier holds no identifier."
        case .itemChanged: "The item's value changed after it was found."
        case .closed: "The vault was closed."
        case .insideTransaction: "The vault was called inside a transaction of its own: call the transaction instead."
        case .valueMismatch(let path):
            path.isEmpty
                ? "The value does not have the expected shape."
                : "The value does not have the expected shape, at '\(path)'."
        case .migrationFailed: "The program could not convert the value from an older shape."
        case .cancelled: "The task was cancelled before the call began, or a person refused."
        case .storage(let error): error.errorDescription
        case .agent(let flaw): "The agent cannot be used: \(flaw.phrase)."
        }
    }
}

extension ParameterFlaw {
    fileprivate var phrase: String {
        switch self {
        case .classMissing: "the class is missing"
        case .attributeValue(let name): "this is not a value for the attribute '\(name)'"
        case .persistentReference: "this is not a persistent reference"
        case .attributesWithReference: "a persistent reference stands alone"
        case .limit: "the limit is out of place"
        case .matchKey: "a match key is out of place"
        case .key(let name):
            name.isEmpty ? "a key is out of place" : "the key '\(name)' is out of place, or its value is"
        case .userAttributeName: "the name of a user attribute has 1 to 255 bytes"
        case .fieldName: "the name of a field has 1 to 255 bytes and no control characters"
        }
    }
}

extension AgentFlaw {
    fileprivate var phrase: String {
        switch self {
        case .notRunning: "it is not running"
        case .gone: "it ended before it answered"
        case .otherVault: "it has another vault"
        case .refused: "its policy does not let this program do that"
        case .protocolViolation: "it has another version"
        case .busy: "it has too many clients, or does not answer"
        case .unanswered: "the person did not answer"
        }
    }
}

extension StorageError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .noVault: "There is no vault at the path."
        case .alreadyExists: "A file exists at the path already."
        case .refused: "The file or its directory has the wrong type, owner or permissions."
        case .damaged: "The vault is damaged or was tampered with."
        case .unsupported: "The vault was written by a newer version."
        case .wrongPassphrase: "No slot of the vault opens with this."
        case .unacceptablePassphrase: "The passphrase is empty, too long, not UTF-8 or has control characters."
        case .unacceptableKeyFile: "A key file has 32 bytes to 1 MiB."
        case .unacceptableRecoveryCode: "The recovery code is mistyped."
        case .noMatchingSlot: "The vault has no slot for this."
        case .slot:
            "The key slots were not changed: there is no room, no such slot, or nobody could open the vault afterwards."
        case .machineSecret: "This machine does not give or keep the vault's secret."
        case .busy: "Another process holds the lock of the vault."
        case .resourceUnavailable: "There is not enough memory for the key derivation."
        case .inputOutput(let errno, let task): "The system cannot \(task.rawValue): \(errno.description)."
        case .indeterminate(let errno):
            "The disk failed while saving, and the change may have been saved: \(errno.description)."
        case .poisoned: "An earlier failure made this handle unusable: open the vault again."
        case .rekeyed: "The vault has a new key: open it again."
        case .rolledBack:
            "The vault is older than the newest state seen on this device, or was replaced by another one."
        case .locked: "The vault is locked."
        case .forked: "The vault was opened by the parent process: open it again."
        case .valueTooLarge: "A secret has at most 16 MiB."
        case .attributesTooLarge: "The attributes of an item have at most 64 KiB."
        case .noStateDirectory: "There is no directory for the secret of this device."
        }
    }
}

extension ItemRecord: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The class, the identifier and the version.
    public var description: String {
        "ItemRecord(\(itemClass.rawValue), \(id.uuidString.lowercased()), version: \(version))"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Item: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The class, the item's name and its version; never the secret.
    public var description: String {
        var parts = [itemClass.rawValue]
        for attribute in [Attribute.service, .server, .account, .label] {
            if let text = self[attribute]?.text { parts.append("\(attribute.name): \"\(text)\"") }
        }
        if let record { parts.append("version: \(record.version)") }
        return "Item(\(parts.joined(separator: ", ")))"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import VaultStorage

// The texts of `localizedDescription`, which contain no secrets and no attribute values.

extension VaultError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .parameter(let flaw): "The query or the item says something impossible: \(flaw.phrase)."
        case .noSuchAttribute(let name): "The class has no attribute '\(name)'."
        case .noSuchClass: "There is no such class."
        case .duplicateItem: "An item with this primary key exists."
        case .itemNotFound: "Nothing matches."
        case .accessGroupDenied: "The access group is not one of the caller's."
        case .locked: "The vault is locked."
        case .presenceRequired: "A person has to give the vault's passphrase for this, and nobody can be asked."
        case .unimplemented: "This is not available for items of this class."
        case .versionMismatch: "The item is not at the version that was demanded."
        case .notADeviceIdentifier: "What is stored in the place of the device identifier is none."
        case .itemChanged: "The item has another value than when it was found."
        case .closed: "The vault was closed."
        case .insideTransaction: "The vault was called inside a transaction of its own: call the transaction instead."
        case .valueMismatch(let path):
            path.isEmpty
                ? "The value is of another shape than what was asked for."
                : "The value is of another shape than what was asked for, at '\(path)'."
        case .migrationFailed: "The program could not convert the value, which is of an older shape."
        case .cancelled: "The task was cancelled before the call began, or a person has said no."
        case .storage(let error): error.errorDescription
        case .agent(let flaw): "The agent cannot be asked: \(flaw.phrase)."
        }
    }
}

extension ParameterFlaw {
    fileprivate var phrase: String {
        switch self {
        case .classMissing: "the class is missing"
        case .attributeValue(let name): "this is no value for the attribute '\(name)'"
        case .persistentReference: "this is no persistent reference"
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
        case .protocolViolation: "it is of another version"
        case .busy: "it has as many clients as it takes, or does not answer"
        case .unanswered: "the person who was asked has not answered"
        }
    }
}

extension StorageError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .noVault: "There is no vault at the path."
        case .alreadyExists: "There is a file at the path already."
        case .refused: "The file or its directory is not what a vault may be: its type, owner or permissions."
        case .damaged: "The vault is damaged or was tampered with."
        case .unsupported: "The vault was written by a newer version."
        case .wrongPassphrase: "No slot of the vault opens with this."
        case .unacceptablePassphrase: "The passphrase is empty, too long, not UTF-8 or has control characters."
        case .unacceptableKeyFile: "A key file has 32 bytes to 1 MiB."
        case .unacceptableRecoveryCode: "The recovery code is mistyped."
        case .noMatchingSlot: "The vault has no slot for this."
        case .slot:
            "The key slots stay as they are: there is no room, no such slot, or nobody could open the vault any more."
        case .machineSecret: "This machine does not give or keep the vault's secret."
        case .busy: "Another process keeps the vault locked."
        case .resourceUnavailable: "There is not enough memory for the key derivation."
        case .inputOutput(let errno, let task): "The system cannot \(task.rawValue): \(errno.description)."
        case .indeterminate(let errno):
            "The disk failed at the end, and the change is there or it is not: \(errno.description)."
        case .poisoned: "An earlier failure made this handle useless: open the vault again."
        case .rekeyed: "The vault has got a new key: open it again."
        case .rolledBack: "The vault is older than what this device has seen, or another one has taken its place."
        case .locked: "The vault is locked."
        case .forked: "The vault was opened by the parent process: open it again."
        case .valueTooLarge: "A secret has at most 16 MiB."
        case .attributesTooLarge: "The attributes of an item have at most 64 KiB."
        case .noStateDirectory: "There is nowhere to keep the secret of this device."
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

// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// An error is the list of the names on the way to it: `["storage", "damaged", "missingCommits", "3", "5"]`.

extension MessageWriter {
    mutating func put(_ error: VaultError) { putAll(error.path) { $0.put($1) } }
}

extension MessageReader {
    mutating func error() throws(MessageError) -> VaultError {
        guard let error = VaultError(try all { reader throws(MessageError) in try reader.text() }) else { throw .invalid }
        return error
    }
}

extension VaultError {
    fileprivate var path: [String] {
        switch self {
        case .parameter(let flaw): ["parameter"] + flaw.path
        case .noSuchAttribute(let name): ["noSuchAttribute", name]
        case .storage(let error): ["storage"] + error.path
        case .agent(let flaw): ["agent", "\(flaw)"]
        default: ["\(self)"]
        }
    }

    fileprivate init?(_ path: [String]) {
        let rest = Array(path.dropFirst())
        switch (path.first, rest.count) {
        case ("parameter", _):
            guard let flaw = ParameterFlaw(rest) else { return nil }
            self = .parameter(flaw)
        case ("noSuchAttribute", 1): self = .noSuchAttribute(rest[0])
        case ("storage", _):
            guard let error = StorageError(rest) else { return nil }
            self = .storage(error)
        case ("agent", 1):
            guard
                let flaw = ([.notRunning, .gone, .otherVault, .refused, .protocolViolation, .busy] as [AgentFlaw]).first(where: {
                    "\($0)" == rest[0]
                })
            else { return nil }
            self = .agent(flaw)
        case (let name?, 0):
            let plain: [VaultError] = [
                .noSuchClass, .duplicateItem, .itemNotFound, .accessGroupDenied, .locked, .unimplemented, .versionMismatch, .itemChanged,
                .notADeviceIdentifier, .closed, .insideTransaction,
            ]
            guard let error = plain.first(where: { "\($0)" == name }) else { return nil }
            self = error
        default: return nil
        }
    }
}

extension ParameterFlaw {
    fileprivate var path: [String] {
        switch self {
        case .attributeValue(let name): ["attributeValue", name]
        case .key(let name): ["key", name]
        default: ["\(self)"]
        }
    }

    fileprivate init?(_ path: [String]) {
        switch (path.first, path.count) {
        case ("attributeValue", 2): self = .attributeValue(path[1])
        case ("key", 2): self = .key(path[1])
        case (let name?, 1):
            let plain: [ParameterFlaw] = [
                .classMissing, .persistentReference, .attributesWithReference, .limit, .matchKey, .userAttributeName,
            ]
            guard let flaw = plain.first(where: { "\($0)" == name }) else { return nil }
            self = flaw
        default: return nil
        }
    }
}

extension StorageError {
    fileprivate var path: [String] {
        switch self {
        case .refused(let refusal): ["refused", "\(refusal)"]
        case .damaged(let damage): ["damaged"] + damage.path
        case .unsupported(let field): ["unsupported", field.rawValue]
        case .unacceptablePassphrase(let flaw): ["unacceptablePassphrase", "\(flaw)"]
        case .unacceptableRecoveryCode(.length): ["unacceptableRecoveryCode"]
        case .unacceptableRecoveryCode(.group(let group)): ["unacceptableRecoveryCode", String(group)]
        case .slot(let flaw): ["slot", flaw.rawValue]
        case .machineSecret(let flaw): ["machineSecret", flaw.rawValue]
        case .inputOutput(let errno, let task): ["inputOutput", String(errno.rawValue), task.rawValue]
        case .indeterminate(let errno): ["indeterminate", String(errno.rawValue)]
        default: ["\(self)"]
        }
    }

    fileprivate init?(_ path: [String]) {
        let rest = Array(path.dropFirst())
        switch (path.first, rest.count) {
        case ("refused", 1):
            let all: [Refusal] = [
                .notARegularFile, .foreignOwner, .accessibleByOthers, .severalLinks, .directoryWritableByOthers, .directoryWritableByGroup,
                .nameTooLong, .deviceSecret,
            ]
            guard let refusal = all.first(where: { "\($0)" == rest[0] }) else { return nil }
            self = .refused(refusal)
        case ("damaged", _):
            guard let damage = Damage(rest) else { return nil }
            self = .damaged(damage)
        case ("unsupported", 1):
            guard let field = FormatField(rawValue: rest[0]) else { return nil }
            self = .unsupported(field)
        case ("unacceptablePassphrase", 1):
            let all: [PassphraseFlaw] = [.empty, .tooLong, .invalidUTF8, .controlCharacter]
            guard let flaw = all.first(where: { "\($0)" == rest[0] }) else { return nil }
            self = .unacceptablePassphrase(flaw)
        case ("unacceptableRecoveryCode", 0): self = .unacceptableRecoveryCode(.length)
        case ("unacceptableRecoveryCode", 1):
            guard let group = UInt64(canonical: rest[0]), (1...UInt64(RecoveryCode.groupCount)).contains(group) else { return nil }
            self = .unacceptableRecoveryCode(.group(Int(group)))
        case ("slot", 1):
            guard let flaw = SlotFlaw(rawValue: rest[0]) else { return nil }
            self = .slot(flaw)
        case ("machineSecret", 1):
            guard let flaw = MachineFlaw(rawValue: rest[0]) else { return nil }
            self = .machineSecret(flaw)
        case ("inputOutput", 2):
            guard let number = CInt(canonical: rest[0]), let task = FileTask(rawValue: rest[1]) else { return nil }
            self = .inputOutput(Errno(rawValue: number), task)
        case ("indeterminate", 1):
            guard let number = CInt(canonical: rest[0]) else { return nil }
            self = .indeterminate(Errno(rawValue: number))
        case (let name?, 0):
            let plain: [StorageError] = [
                .noVault, .alreadyExists, .wrongPassphrase, .unacceptableKeyFile, .noMatchingSlot, .busy, .resourceUnavailable, .poisoned,
                .rekeyed, .rolledBack, .locked, .forked, .valueTooLarge, .attributesTooLarge, .noStateDirectory,
            ]
            guard let error = plain.first(where: { "\($0)" == name }) else { return nil }
            self = error
        default: return nil
        }
    }
}

extension Damage {
    fileprivate var path: [String] {
        switch self {
        case .header(let error): ["header"] + error.path
        case .markMismatch(let sequence): ["markMismatch", String(sequence)]
        case .missingCommits(let found, let expected): ["missingCommits", String(found), String(expected)]
        case .frame(let sequence, let error): ["frame", String(sequence)] + (error?.path ?? [])
        case .values(let sequence): ["values", String(sequence)]
        case .value(let id): ["value", String(id.high), String(id.low)]
        default: ["\(self)"]
        }
    }

    fileprivate init?(_ path: [String]) {
        let rest = Array(path.dropFirst())
        let numbers = rest.prefix(2).map { UInt64(canonical: $0) }
        switch (path.first, rest.count) {
        case ("header", _):
            guard let error = FormatError(rest) else { return nil }
            self = .header(error)
        case ("markMismatch", 1):
            guard let sequence = numbers[0] else { return nil }
            self = .markMismatch(sequence: sequence)
        case ("missingCommits", 2):
            guard let found = numbers[0], let expected = numbers[1] else { return nil }
            self = .missingCommits(found: found, expected: expected)
        case ("frame", 1...):
            guard let sequence = numbers[0] else { return nil }
            let error = FormatError(Array(rest.dropFirst()))
            guard error != nil || rest.count == 1 else { return nil }
            self = .frame(sequence: sequence, error)
        case ("values", 1):
            guard let sequence = numbers[0] else { return nil }
            self = .values(sequence: sequence)
        case ("value", 2):
            guard let high = numbers[0], let low = numbers[1] else { return nil }
            var id: [UInt8] = []
            id.append(integer: high.byteSwapped)
            id.append(integer: low.byteSwapped)
            self = .value(ItemID(id.span))
        case (let name?, 0):
            let plain: [Damage] = [.notAVault, .headerChecksum, .headerMAC, .keySlot, .marks, .readBack]
            guard let damage = plain.first(where: { "\($0)" == name }) else { return nil }
            self = damage
        default: return nil
        }
    }
}

extension FormatError {
    fileprivate var path: [String] {
        switch self {
        case .notAVault: ["notAVault"]
        case .unsupported(let field): ["unsupported", field.rawValue]
        case .truncated(let field): ["truncated", field.rawValue]
        case .invalid(let field): ["invalid", field.rawValue]
        case .outOfBounds(let field): ["outOfBounds", field.rawValue]
        }
    }

    fileprivate init?(_ path: [String]) {
        let field = path.count == 2 ? FormatField(rawValue: path[1]) : nil
        switch (path.first, field) {
        case ("notAVault", nil) where path.count == 1: self = .notAVault
        case ("unsupported", let field?): self = .unsupported(field)
        case ("truncated", let field?): self = .truncated(field)
        case ("invalid", let field?): self = .invalid(field)
        case ("outOfBounds", let field?): self = .outOfBounds(field)
        default: return nil
        }
    }
}

extension FixedWidthInteger {
    /// A number in the one form that `String(_:)` gives it.
    fileprivate init?(canonical text: String) {
        guard let number = Self(text), String(number) == text else { return nil }
        self = number
    }
}

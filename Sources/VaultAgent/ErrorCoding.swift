// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// An error is its code, u16, and what goes with it. Both ways are switches over every case: one that lacks a number, or
// a number that means nothing, does not compile.

extension MessageWriter {
    mutating func put(_ error: VaultError) {
        switch error {
        case .noSuchClass: put(code: .noSuchClass)
        case .duplicateItem: put(code: .duplicateItem)
        case .itemNotFound: put(code: .itemNotFound)
        case .accessGroupDenied: put(code: .accessGroupDenied)
        case .locked: put(code: .locked)
        case .unimplemented: put(code: .unimplemented)
        case .versionMismatch: put(code: .versionMismatch)
        case .itemChanged: put(code: .itemChanged)
        case .notADeviceIdentifier: put(code: .notADeviceIdentifier)
        case .closed: put(code: .closed)
        case .insideTransaction: put(code: .insideTransaction)
        case .noSuchAttribute(let name): put(code: .noSuchAttribute, name)
        case .agent(let flaw):
            put(code: .agent)
            put(flaw.rawValue)
        case .parameter(let flaw): put(flaw)
        case .storage(let error): put(error)
        }
    }

    private mutating func put(_ flaw: ParameterFlaw) {
        switch flaw {
        case .classMissing: put(code: .classMissing)
        case .attributeValue(let name): put(code: .attributeValue, name)
        case .persistentReference: put(code: .persistentReference)
        case .attributesWithReference: put(code: .attributesWithReference)
        case .limit: put(code: .limit)
        case .matchKey: put(code: .matchKey)
        case .key(let name): put(code: .key, name)
        case .userAttributeName: put(code: .userAttributeName)
        }
    }

    private mutating func put(_ error: StorageError) {
        switch error {
        case .noVault: put(code: .noVault)
        case .alreadyExists: put(code: .alreadyExists)
        case .wrongPassphrase: put(code: .wrongPassphrase)
        case .unacceptableKeyFile: put(code: .unacceptableKeyFile)
        case .noMatchingSlot: put(code: .noMatchingSlot)
        case .busy: put(code: .busy)
        case .resourceUnavailable: put(code: .resourceUnavailable)
        case .poisoned: put(code: .poisoned)
        case .rekeyed: put(code: .rekeyed)
        case .rolledBack: put(code: .rolledBack)
        case .locked: put(code: .storageLocked)
        case .forked: put(code: .forked)
        case .valueTooLarge: put(code: .valueTooLarge)
        case .attributesTooLarge: put(code: .attributesTooLarge)
        case .noStateDirectory: put(code: .noStateDirectory)
        case .refused(let refusal):
            put(code: .refused)
            put(refusal.rawValue)
        case .unsupported(let field): put(code: .unsupported, field.rawValue)
        case .unacceptablePassphrase(let flaw):
            put(code: .unacceptablePassphrase)
            put(flaw.rawValue)
        case .unacceptableRecoveryCode(.length): put(code: .recoveryCodeLength)
        case .unacceptableRecoveryCode(.group(let group)):
            put(code: .recoveryCodeGroup)
            put(UInt8(clamping: group))
        case .slot(let flaw): put(code: .slot, flaw.rawValue)
        case .machineSecret(let flaw): put(code: .machineSecret, flaw.rawValue)
        case .inputOutput(let errno, let task):
            put(code: .inputOutput, task.rawValue)
            put(errno)
        case .indeterminate(let errno):
            put(code: .indeterminate)
            put(errno)
        case .damaged(let damage): put(damage)
        }
    }

    private mutating func put(_ damage: Damage) {
        switch damage {
        case .notAVault: put(code: .notAVault)
        case .headerChecksum: put(code: .headerChecksum)
        case .headerMAC: put(code: .headerMAC)
        case .keySlot: put(code: .keySlot)
        case .marks: put(code: .marks)
        case .readBack: put(code: .readBack)
        case .header(let error):
            put(code: .header)
            put(error)
        case .markMismatch(let sequence):
            put(code: .markMismatch)
            put(sequence)
        case .missingCommits(let found, let expected):
            put(code: .missingCommits)
            put(found)
            put(expected)
        case .frame(let sequence, let error):
            put(code: .frame)
            put(sequence)
            put(error) { $0.put($1) }
        case .values(let sequence):
            put(code: .values)
            put(sequence)
        case .value(let id):
            put(code: .value)
            put(id.high)
            put(id.low)
        }
    }

    private mutating func put(_ error: FormatError) {
        switch error {
        case .notAVault: put(0 as UInt8)
        case .unsupported(let field): put(1, field)
        case .truncated(let field): put(2, field)
        case .invalid(let field): put(3, field)
        case .outOfBounds(let field): put(4, field)
        }
    }

    private mutating func put(code: ErrorCode) { put(code.rawValue) }

    private mutating func put(code: ErrorCode, _ text: String) {
        put(code: code)
        put(text)
    }

    private mutating func put(_ number: UInt8, _ field: FormatField) {
        put(number)
        put(field.rawValue)
    }

    private mutating func put(_ errno: Errno) { put(UInt32(bitPattern: errno.rawValue)) }
}

extension MessageReader {
    mutating func error() throws(MessageError) -> VaultError {
        let code: ErrorCode = try rawValue()
        switch code {
        case .noSuchClass: return .noSuchClass
        case .duplicateItem: return .duplicateItem
        case .itemNotFound: return .itemNotFound
        case .accessGroupDenied: return .accessGroupDenied
        case .locked: return .locked
        case .unimplemented: return .unimplemented
        case .versionMismatch: return .versionMismatch
        case .itemChanged: return .itemChanged
        case .notADeviceIdentifier: return .notADeviceIdentifier
        case .closed: return .closed
        case .insideTransaction: return .insideTransaction
        case .noSuchAttribute: return .noSuchAttribute(try text())
        case .agent: return .agent(try rawValue())
        case .classMissing: return .parameter(.classMissing)
        case .attributeValue: return .parameter(.attributeValue(try text()))
        case .persistentReference: return .parameter(.persistentReference)
        case .attributesWithReference: return .parameter(.attributesWithReference)
        case .limit: return .parameter(.limit)
        case .matchKey: return .parameter(.matchKey)
        case .key: return .parameter(.key(try text()))
        case .userAttributeName: return .parameter(.userAttributeName)
        case .noVault: return .storage(.noVault)
        case .alreadyExists: return .storage(.alreadyExists)
        case .wrongPassphrase: return .storage(.wrongPassphrase)
        case .unacceptableKeyFile: return .storage(.unacceptableKeyFile)
        case .noMatchingSlot: return .storage(.noMatchingSlot)
        case .busy: return .storage(.busy)
        case .resourceUnavailable: return .storage(.resourceUnavailable)
        case .poisoned: return .storage(.poisoned)
        case .rekeyed: return .storage(.rekeyed)
        case .rolledBack: return .storage(.rolledBack)
        case .storageLocked: return .storage(.locked)
        case .forked: return .storage(.forked)
        case .valueTooLarge: return .storage(.valueTooLarge)
        case .attributesTooLarge: return .storage(.attributesTooLarge)
        case .noStateDirectory: return .storage(.noStateDirectory)
        case .refused: return .storage(.refused(try rawValue()))
        case .unsupported: return .storage(.unsupported(try named()))
        case .unacceptablePassphrase: return .storage(.unacceptablePassphrase(try rawValue()))
        case .recoveryCodeLength: return .storage(.unacceptableRecoveryCode(.length))
        case .recoveryCodeGroup:
            let group = Int(try integer(UInt8.self))
            guard (1...RecoveryCode.groupCount).contains(group) else { throw .invalid }
            return .storage(.unacceptableRecoveryCode(.group(group)))
        case .slot: return .storage(.slot(try named()))
        case .machineSecret: return .storage(.machineSecret(try named()))
        case .inputOutput:
            let task: FileTask = try named()
            return .storage(.inputOutput(try errno(), task))
        case .indeterminate: return .storage(.indeterminate(try errno()))
        case .notAVault: return .storage(.damaged(.notAVault))
        case .headerChecksum: return .storage(.damaged(.headerChecksum))
        case .headerMAC: return .storage(.damaged(.headerMAC))
        case .keySlot: return .storage(.damaged(.keySlot))
        case .marks: return .storage(.damaged(.marks))
        case .readBack: return .storage(.damaged(.readBack))
        case .header: return .storage(.damaged(.header(try formatError())))
        case .markMismatch: return .storage(.damaged(.markMismatch(sequence: try integer())))
        case .missingCommits: return .storage(.damaged(.missingCommits(found: try integer(), expected: try integer())))
        case .frame:
            let sequence = try integer(UInt64.self)
            let error = try optional { reader throws(MessageError) in try reader.formatError() }
            return .storage(.damaged(.frame(sequence: sequence, error)))
        case .values: return .storage(.damaged(.values(sequence: try integer())))
        case .value: return .storage(.damaged(.value(ItemID(high: try integer(), low: try integer()))))
        }
    }

    private mutating func formatError() throws(MessageError) -> FormatError {
        switch try integer(UInt8.self) {
        case 0: .notAVault
        case 1: .unsupported(try named())
        case 2: .truncated(try named())
        case 3: .invalid(try named())
        case 4: .outOfBounds(try named())
        default: throw .invalid
        }
    }

    private mutating func errno() throws(MessageError) -> Errno {
        Errno(rawValue: CInt(bitPattern: try integer(UInt32.self)))
    }

    private mutating func named<R: RawRepresentable>() throws(MessageError) -> R where R.RawValue == String {
        guard let value = R(rawValue: try text()) else { throw .invalid }
        return value
    }
}

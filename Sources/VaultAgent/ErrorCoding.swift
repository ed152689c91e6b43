// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault
internal import VaultCrypto
package import VaultFormat
internal import VaultStorage

// An error is encoded as its code, u16, and its associated values. Both directions are exhaustive switches: a case
// without a number, or a number without a case, does not compile.

/// The number of an error on the wire. The associated values follow in their order. A number is never reused.
enum ErrorCode: UInt16, CaseIterable {
    case noSuchClass = 1
    case duplicateItem = 2
    case itemNotFound = 3
    case accessGroupDenied = 4
    case locked = 5
    case unimplemented = 6
    case versionMismatch = 7
    case itemChanged = 8
    case notADeviceIdentifier = 9
    case closed = 10
    case insideTransaction = 11
    case noSuchAttribute = 12
    case agent = 13
    case valueMismatch = 14
    case cancelled = 15
    case presenceRequired = 16
    // Flaws of a query or an item.
    case classMissing = 20
    case attributeValue = 21
    case persistentReference = 22
    case attributesWithReference = 23
    case limit = 24
    case matchKey = 25
    case key = 26
    case userAttributeName = 27
    case fieldName = 28
    // Errors of the file, or of the secret that should open it.
    case noVault = 40
    case alreadyExists = 41
    case wrongPassphrase = 42
    case unacceptableKeyFile = 43
    case noMatchingSlot = 44
    case busy = 45
    case resourceUnavailable = 46
    case poisoned = 47
    case rekeyed = 48
    case rolledBack = 49
    case storageLocked = 50
    case forked = 51
    case valueTooLarge = 52
    case attributesTooLarge = 53
    case noStateDirectory = 54
    case refused = 55
    case unsupported = 56
    case unacceptablePassphrase = 57
    case recoveryCodeLength = 58
    case recoveryCodeGroup = 59
    case slot = 60
    case machineSecret = 61
    case inputOutput = 62
    case indeterminate = 63
    // Damage.
    case notAVault = 80
    case headerChecksum = 81
    case headerMAC = 82
    case keySlot = 83
    case marks = 84
    case readBack = 85
    case header = 86
    case markMismatch = 87
    case missingCommits = 88
    case frame = 89
    case values = 90
    case value = 91
}

extension ErrorCode: MessageValue {}
extension AgentFlaw: MessageValue {}
extension Refusal: MessageValue {}
extension PassphraseFlaw: MessageValue {}
extension SlotFlaw: MessageValue {}
extension MachineFlaw: MessageValue {}
extension FileTask: MessageValue {}
extension FormatField: MessageValue {}

extension VaultError: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(error: self) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> VaultError {
        try reader.error()
    }
}

extension FormatError: MessageValue {
    package func write(to writer: inout MessageWriter) {
        func put(_ number: UInt8, _ field: FormatField) {
            writer.put(number)
            writer.put(field)
        }
        switch self {
        case .notAVault: writer.put(0 as UInt8)
        case .unsupported(let field): put(1, field)
        case .truncated(let field): put(2, field)
        case .invalid(let field): put(3, field)
        case .outOfBounds(let field): put(4, field)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> FormatError {
        switch try reader.read(UInt8.self) {
        case 0: .notAVault
        case 1: .unsupported(try reader.read())
        case 2: .truncated(try reader.read())
        case 3: .invalid(try reader.read())
        case 4: .outOfBounds(try reader.read())
        default: throw .invalid
        }
    }
}

extension Errno: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(UInt32(bitPattern: rawValue)) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Errno {
        Errno(rawValue: CInt(bitPattern: try reader.read()))
    }
}

extension MessageWriter {
    fileprivate mutating func put(error: VaultError) {
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
        case .cancelled: put(code: .cancelled)
        case .presenceRequired: put(code: .presenceRequired)
        case .noSuchAttribute(let name): put(code: .noSuchAttribute, name)
        case .valueMismatch(let path): put(code: .valueMismatch, path)
        // The reading program converts values, never an agent.
        case .migrationFailed: put(code: .valueMismatch, "")
        case .agent(let flaw):
            put(code: .agent, flaw)
        case .parameter(let flaw): put(parameter: flaw)
        case .storage(let error): put(storage: error)
        }
    }

    private mutating func put(parameter flaw: ParameterFlaw) {
        switch flaw {
        case .classMissing: put(code: .classMissing)
        case .attributeValue(let name): put(code: .attributeValue, name)
        case .persistentReference: put(code: .persistentReference)
        case .attributesWithReference: put(code: .attributesWithReference)
        case .limit: put(code: .limit)
        case .matchKey: put(code: .matchKey)
        case .key(let name): put(code: .key, name)
        case .userAttributeName: put(code: .userAttributeName)
        case .fieldName: put(code: .fieldName)
        }
    }

    private mutating func put(storage error: StorageError) {
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
            put(code: .refused, refusal)
        case .unsupported(let field): put(code: .unsupported, field)
        case .unacceptablePassphrase(let flaw):
            put(code: .unacceptablePassphrase, flaw)
        case .unacceptableRecoveryCode(.length): put(code: .recoveryCodeLength)
        case .unacceptableRecoveryCode(.group(let group)):
            put(code: .recoveryCodeGroup, UInt8(clamping: group))
        case .slot(let flaw): put(code: .slot, flaw)
        case .machineSecret(let flaw): put(code: .machineSecret, flaw)
        case .inputOutput(let errno, let task):
            put(code: .inputOutput, task)
            put(errno)
        case .indeterminate(let errno):
            put(code: .indeterminate, errno)
        case .damaged(let damage): put(damage: damage)
        }
    }

    private mutating func put(damage: Damage) {
        switch damage {
        case .notAVault: put(code: .notAVault)
        case .headerChecksum: put(code: .headerChecksum)
        case .headerMAC: put(code: .headerMAC)
        case .keySlot: put(code: .keySlot)
        case .marks: put(code: .marks)
        case .readBack: put(code: .readBack)
        case .header(let error):
            put(code: .header, error)
        case .markMismatch(let sequence):
            put(code: .markMismatch, sequence)
        case .missingCommits(let found, let expected):
            put(code: .missingCommits)
            put(found)
            put(expected)
        case .frame(let sequence, let error):
            put(code: .frame)
            put(sequence)
            put(error)
        case .values(let sequence):
            put(code: .values, sequence)
        case .value(let id):
            put(code: .value)
            put(id.high)
            put(id.low)
        }
    }

    private mutating func put(code: ErrorCode) { put(code) }

    private mutating func put(code: ErrorCode, _ detail: some MessageValue) {
        put(code)
        put(detail)
    }
}

extension MessageReader {
    fileprivate mutating func error() throws(MessageError) -> VaultError {
        let code: ErrorCode = try read()
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
        case .cancelled: return .cancelled
        case .presenceRequired: return .presenceRequired
        case .noSuchAttribute: return .noSuchAttribute(try read())
        case .valueMismatch: return .valueMismatch(path: try read())
        case .agent: return .agent(try read())
        case .classMissing: return .parameter(.classMissing)
        case .attributeValue: return .parameter(.attributeValue(try read()))
        case .persistentReference: return .parameter(.persistentReference)
        case .attributesWithReference: return .parameter(.attributesWithReference)
        case .limit: return .parameter(.limit)
        case .matchKey: return .parameter(.matchKey)
        case .key: return .parameter(.key(try read()))
        case .userAttributeName: return .parameter(.userAttributeName)
        case .fieldName: return .parameter(.fieldName)
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
        case .refused: return .storage(.refused(try read()))
        case .unsupported: return .storage(.unsupported(try read()))
        case .unacceptablePassphrase: return .storage(.unacceptablePassphrase(try read()))
        case .recoveryCodeLength: return .storage(.unacceptableRecoveryCode(.length))
        case .recoveryCodeGroup:
            let group = Int(try read(UInt8.self))
            guard (1...RecoveryCode.groupCount).contains(group) else { throw .invalid }
            return .storage(.unacceptableRecoveryCode(.group(group)))
        case .slot: return .storage(.slot(try read()))
        case .machineSecret: return .storage(.machineSecret(try read()))
        case .inputOutput:
            let task: FileTask = try read()
            return .storage(.inputOutput(try read(), task))
        case .indeterminate: return .storage(.indeterminate(try read()))
        case .notAVault: return .storage(.damaged(.notAVault))
        case .headerChecksum: return .storage(.damaged(.headerChecksum))
        case .headerMAC: return .storage(.damaged(.headerMAC))
        case .keySlot: return .storage(.damaged(.keySlot))
        case .marks: return .storage(.damaged(.marks))
        case .readBack: return .storage(.damaged(.readBack))
        case .header: return .storage(.damaged(.header(try read())))
        case .markMismatch: return .storage(.damaged(.markMismatch(sequence: try read())))
        case .missingCommits: return .storage(.damaged(.missingCommits(found: try read(), expected: try read())))
        case .frame: return .storage(.damaged(.frame(sequence: try read(), try read())))
        case .values: return .storage(.damaged(.values(sequence: try read())))
        case .value: return .storage(.damaged(.value(ItemID(high: try read(), low: try read()))))
        }
    }
}

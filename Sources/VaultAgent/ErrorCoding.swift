// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault
internal import VaultCrypto
package import VaultFormat
internal import VaultStorage

// An error is encoded as its code, u16, and its associated values in their order. A code is never reused.

extension AgentFlaw: MessageValue {}
extension Refusal: MessageValue {}
extension PassphraseFlaw: MessageValue {}
extension SlotFlaw: MessageValue {}
extension MachineFlaw: MessageValue {}
extension FileTask: MessageValue {}
extension FormatField: MessageValue {}

extension FormatError: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .notAVault: writer.put(case: 0)
        case .unsupported(let field): writer.put(case: 1, field)
        case .truncated(let field): writer.put(case: 2, field)
        case .invalid(let field): writer.put(case: 3, field)
        case .outOfBounds(let field): writer.put(case: 4, field)
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

extension VaultError: MessageValue {
    // The switch is exhaustive: a case without a code does not compile.
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .noSuchClass: writer.put(code: 1)
        case .duplicateItem: writer.put(code: 2)
        case .itemNotFound: writer.put(code: 3)
        case .accessGroupDenied: writer.put(code: 4)
        case .locked: writer.put(code: 5)
        case .unimplemented: writer.put(code: 6)
        case .versionMismatch: writer.put(code: 7)
        case .itemChanged: writer.put(code: 8)
        case .notADeviceIdentifier: writer.put(code: 9)
        case .closed: writer.put(code: 10)
        case .insideTransaction: writer.put(code: 11)
        case .noSuchAttribute(let name): writer.put(code: 12, name)
        case .agent(let flaw): writer.put(code: 13, flaw)
        case .valueMismatch(let path): writer.put(code: 14, path)
        // The reading program converts values, never an agent.
        case .migrationFailed: writer.put(code: 14, "")
        case .cancelled: writer.put(code: 15)
        case .presenceRequired: writer.put(code: 16)
        case .parameter(let flaw): writer.put(parameter: flaw)
        case .storage(let error): writer.put(storage: error)
        }
    }

    /// The errors without an associated value, by their codes.
    private static let plain: [UInt16: VaultError] = {
        let flaws: [ParameterFlaw] = [
            .classMissing, .persistentReference, .attributesWithReference, .limit, .matchKey, .userAttributeName,
            .fieldName,
        ]
        let damages: [Damage] = [.notAVault, .headerChecksum, .headerMAC, .keySlot, .marks, .readBack]
        let ofStorage: [StorageError] = [
            .noVault, .alreadyExists, .wrongPassphrase, .unacceptableKeyFile, .noMatchingSlot, .busy,
            .resourceUnavailable, .poisoned, .rekeyed, .rolledBack, .locked, .forked, .valueTooLarge,
            .attributesTooLarge, .noStateDirectory, .unacceptableRecoveryCode(.length),
        ]
        let errors: [VaultError] = [
            .noSuchClass, .duplicateItem, .itemNotFound, .accessGroupDenied, .locked, .unimplemented, .versionMismatch,
            .itemChanged, .notADeviceIdentifier, .closed, .insideTransaction, .cancelled, .presenceRequired,
        ]
        let all =
            errors + flaws.map { .parameter($0) } + ofStorage.map { .storage($0) }
            + damages.map { .storage(.damaged($0)) }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.code, $0) })
    }()

    private var code: UInt16 {
        var writer = MessageWriter()
        writer.put(self)
        return writer.body.span.integer(at: 0, as: UInt16.self)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> VaultError {
        let code: UInt16 = try reader.read()
        if let error = plain[code] { return error }
        switch code {
        case 12: return .noSuchAttribute(try reader.read())
        case 13: return .agent(try reader.read())
        case 14: return .valueMismatch(path: try reader.read())
        case 21: return .parameter(.attributeValue(try reader.read()))
        case 26: return .parameter(.key(try reader.read()))
        case 55: return .storage(.refused(try reader.read()))
        case 56: return .storage(.unsupported(try reader.read()))
        case 57: return .storage(.unacceptablePassphrase(try reader.read()))
        case 59:
            let group = Int(try reader.read(UInt8.self))
            guard (1...RecoveryCode.groupCount).contains(group) else { throw .invalid }
            return .storage(.unacceptableRecoveryCode(.group(group)))
        case 60: return .storage(.slot(try reader.read()))
        case 61: return .storage(.machineSecret(try reader.read()))
        case 62:
            let task: FileTask = try reader.read()
            return .storage(.inputOutput(try reader.read(), task))
        case 63: return .storage(.indeterminate(try reader.read()))
        case 86: return .storage(.damaged(.header(try reader.read())))
        case 87: return .storage(.damaged(.markMismatch(sequence: try reader.read())))
        case 88: return .storage(.damaged(.missingCommits(found: try reader.read(), expected: try reader.read())))
        case 89: return .storage(.damaged(.frame(sequence: try reader.read(), try reader.read())))
        case 90: return .storage(.damaged(.values(sequence: try reader.read())))
        case 91: return .storage(.damaged(.value(try reader.read())))
        default: throw .invalid
        }
    }
}

extension MessageWriter {
    fileprivate mutating func put<each Detail: MessageValue>(code: UInt16, _ details: repeat each Detail) {
        put(code)
        repeat put(each details)
    }

    fileprivate mutating func put(parameter flaw: ParameterFlaw) {
        switch flaw {
        case .classMissing: put(code: 20)
        case .attributeValue(let name): put(code: 21, name)
        case .persistentReference: put(code: 22)
        case .attributesWithReference: put(code: 23)
        case .limit: put(code: 24)
        case .matchKey: put(code: 25)
        case .key(let name): put(code: 26, name)
        case .userAttributeName: put(code: 27)
        case .fieldName: put(code: 28)
        }
    }

    fileprivate mutating func put(storage error: StorageError) {
        switch error {
        case .noVault: put(code: 40)
        case .alreadyExists: put(code: 41)
        case .wrongPassphrase: put(code: 42)
        case .unacceptableKeyFile: put(code: 43)
        case .noMatchingSlot: put(code: 44)
        case .busy: put(code: 45)
        case .resourceUnavailable: put(code: 46)
        case .poisoned: put(code: 47)
        case .rekeyed: put(code: 48)
        case .rolledBack: put(code: 49)
        case .locked: put(code: 50)
        case .forked: put(code: 51)
        case .valueTooLarge: put(code: 52)
        case .attributesTooLarge: put(code: 53)
        case .noStateDirectory: put(code: 54)
        case .refused(let refusal): put(code: 55, refusal)
        case .unsupported(let field): put(code: 56, field)
        case .unacceptablePassphrase(let flaw): put(code: 57, flaw)
        case .unacceptableRecoveryCode(.length): put(code: 58)
        case .unacceptableRecoveryCode(.group(let group)): put(code: 59, UInt8(clamping: group))
        case .slot(let flaw): put(code: 60, flaw)
        case .machineSecret(let flaw): put(code: 61, flaw)
        case .inputOutput(let errno, let task): put(code: 62, task, errno)
        case .indeterminate(let errno): put(code: 63, errno)
        case .damaged(let damage): put(damage: damage)
        }
    }

    private mutating func put(damage: Damage) {
        switch damage {
        case .notAVault: put(code: 80)
        case .headerChecksum: put(code: 81)
        case .headerMAC: put(code: 82)
        case .keySlot: put(code: 83)
        case .marks: put(code: 84)
        case .readBack: put(code: 85)
        case .header(let error): put(code: 86, error)
        case .markMismatch(let sequence): put(code: 87, sequence)
        case .missingCommits(let found, let expected): put(code: 88, found, expected)
        case .frame(let sequence, let error): put(code: 89, sequence, error)
        case .values(let sequence): put(code: 90, sequence)
        case .value(let id): put(code: 91, id)
        }
    }
}

// MARK: Identifiers

extension Bytes16: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(text) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Bytes16 {
        guard let value = Bytes16(text: try reader.read()) else { throw .invalid }
        return value
    }
}

extension ItemID: MessageValue, Formed {
    package static let form = MessageForm(Self.init(high:low:)) { ($0.high, $0.low) }
}

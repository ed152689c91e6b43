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

extension FormatError: FormedCases {
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(0, .notAVault),
        .init(1, Self.unsupported) { if case .unsupported(let field) = $0 { field } else { nil } },
        .init(2, Self.truncated) { if case .truncated(let field) = $0 { field } else { nil } },
        .init(3, Self.invalid) { if case .invalid(let field) = $0 { field } else { nil } },
        .init(4, Self.outOfBounds) { if case .outOfBounds(let field) = $0 { field } else { nil } },
    ]
}

extension Errno: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(UInt32(bitPattern: rawValue)) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Errno {
        Errno(rawValue: CInt(bitPattern: try reader.read()))
    }
}

extension VaultError: FormedCases {
    package static let cases: [CaseForm<UInt16, Self>] =
        plain + withDetail + ParameterFlaw.withDetail + StorageError.withDetail + Damage.withDetail

    private static let plain: [CaseForm<UInt16, Self>] = {
        let plain: [(UInt16, VaultError)] = [
            (1, .noSuchClass), (2, .duplicateItem), (3, .itemNotFound), (4, .accessGroupDenied), (5, .locked),
            (6, .unimplemented), (7, .versionMismatch), (8, .itemChanged), (9, .notADeviceIdentifier), (10, .closed),
            (11, .insideTransaction), (15, .cancelled), (16, .presenceRequired),
        ]
        let flaws: [(UInt16, ParameterFlaw)] = [
            (20, .classMissing), (22, .persistentReference), (23, .attributesWithReference), (24, .limit),
            (25, .matchKey), (27, .userAttributeName), (28, .fieldName),
        ]
        let ofStorage: [(UInt16, StorageError)] = [
            (40, .noVault), (41, .alreadyExists), (42, .wrongPassphrase), (43, .unacceptableKeyFile),
            (44, .noMatchingSlot), (45, .busy), (46, .resourceUnavailable), (47, .poisoned), (48, .rekeyed),
            (49, .rolledBack), (50, .locked), (51, .forked), (52, .valueTooLarge), (53, .attributesTooLarge),
            (54, .noStateDirectory), (58, .unacceptableRecoveryCode(.length)),
        ]
        let damages: [(UInt16, Damage)] = [
            (80, .notAVault), (81, .headerChecksum), (82, .headerMAC), (83, .keySlot), (84, .marks), (85, .readBack),
        ]
        return plain.map { .init($0, $1) } + flaws.map { .init($0, .parameter($1)) }
            + ofStorage.map { .init($0, .storage($1)) } + damages.map { .init($0, .storage(.damaged($1))) }
    }()

    private static let withDetail: [CaseForm<UInt16, Self>] = [
        .init(12, Self.noSuchAttribute) { if case .noSuchAttribute(let name) = $0 { name } else { nil } },
        .init(13, Self.agent) { if case .agent(let flaw) = $0 { flaw } else { nil } },
        .init(14, Self.valueMismatch) {
            switch $0 {
            case .valueMismatch(let path): path
            // The reading program converts values, never an agent.
            case .migrationFailed: ""
            default: nil
            }
        },
    ]

    fileprivate var storage: StorageError? { if case .storage(let error) = self { error } else { nil } }

    fileprivate var damage: Damage? { if case .damaged(let damage) = storage { damage } else { nil } }
}

extension ParameterFlaw {
    fileprivate static let withDetail: [CaseForm<UInt16, VaultError>] = [
        .init(21, { .parameter(.attributeValue($0)) }) {
            if case .parameter(.attributeValue(let name)) = $0 { name } else { nil }
        },
        .init(26, { .parameter(.key($0)) }) { if case .parameter(.key(let name)) = $0 { name } else { nil } },
    ]
}

extension StorageError {
    fileprivate static let withDetail: [CaseForm<UInt16, VaultError>] = [
        .init(55, { .storage(.refused($0)) }) { if case .refused(let refusal) = $0.storage { refusal } else { nil } },
        .init(56, { .storage(.unsupported($0)) }) {
            if case .unsupported(let field) = $0.storage { field } else { nil }
        },
        .init(57, { .storage(.unacceptablePassphrase($0)) }) {
            if case .unacceptablePassphrase(let flaw) = $0.storage { flaw } else { nil }
        },
        .init(
            59,
            { (group: UInt8) throws(MessageError) in
                guard (1...RecoveryCode.groupCount).contains(Int(group)) else { throw .invalid }
                return .storage(.unacceptableRecoveryCode(.group(Int(group))))
            }
        ) {
            if case .unacceptableRecoveryCode(.group(let group)) = $0.storage { UInt8(clamping: group) } else { nil }
        },
        .init(60, { .storage(.slot($0)) }) { if case .slot(let flaw) = $0.storage { flaw } else { nil } },
        .init(61, { .storage(.machineSecret($0)) }) {
            if case .machineSecret(let flaw) = $0.storage { flaw } else { nil }
        },
        .init(62, { .storage(.inputOutput($1, $0)) }) {
            if case .inputOutput(let errno, let task) = $0.storage { (task, errno) } else { nil }
        },
        .init(63, { .storage(.indeterminate($0)) }) {
            if case .indeterminate(let errno) = $0.storage { errno } else { nil }
        },
    ]
}

extension Damage {
    fileprivate static let withDetail: [CaseForm<UInt16, VaultError>] = [
        .init(86, { .storage(.damaged(.header($0))) }) {
            if case .header(let error) = $0.damage { error } else { nil }
        },
        .init(87, { .storage(.damaged(.markMismatch(sequence: $0))) }) {
            if case .markMismatch(let sequence) = $0.damage { sequence } else { nil }
        },
        .init(88, { .storage(.damaged(.missingCommits(found: $0, expected: $1))) }) {
            if case .missingCommits(let found, let expected) = $0.damage { (found, expected) } else { nil }
        },
        .init(89, { .storage(.damaged(.frame(sequence: $0, $1))) }) {
            if case .frame(let sequence, let error) = $0.damage { (sequence, error) } else { nil }
        },
        .init(90, { .storage(.damaged(.values(sequence: $0))) }) {
            if case .values(let sequence) = $0.damage { sequence } else { nil }
        },
        .init(91, { .storage(.damaged(.value($0))) }) { if case .value(let id) = $0.damage { id } else { nil } },
    ]
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

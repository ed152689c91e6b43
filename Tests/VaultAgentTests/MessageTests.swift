// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultAgent

struct MessageTests {
    @Test func `every message comes back as it was sent`() throws {
        for message in try FuzzedMessage.messages {
            let bytes = FuzzedMessage.bytes(message.frame(7))
            let again = try type(of: message).init(parse(bytes))
            #expect(FuzzedMessage.bytes(again.frame(7)) == bytes, "\(message)")
        }
    }

    @Test func `a message that ends too early or goes on is none`() throws {
        for seed in try FuzzedMessage.seeds {
            let frame = try parse(seed)
            for count in 0..<frame.body.count {
                #expect(
                    !isAccepted(Frame(try head(seed), body: Array(frame.body[..<count]), secrets: frame.secrets.first)))
            }
            #expect(!isAccepted(Frame(try head(seed), body: frame.body + [0], secrets: frame.secrets.first)))
            let more = try Secret(bytes: [UInt8](repeating: 1, count: frame.secretsLength + 1))
            #expect(!isAccepted(Frame(try head(seed), body: frame.body, secrets: more)))
        }
    }

    @Test func `what the fuzzer once found holds`() throws {
        for input in try Vectors.fuzzCases("message") + FuzzedMessage.seeds { #expect(FuzzedMessage.holds(input)) }
    }

    @Test func `messages that were changed here and there hold`() throws {
        let random = SeededRandom("messages")
        let seeds = try FuzzedMessage.seeds
        for round in 0..<20_000 {
            var input = random.element(of: seeds)
            for _ in 0...round % 3 {
                let place = random.number(in: 0...input.count - 1)
                input[place] =
                    random.chance(50) ? UInt8(random.uniform(256)) : input[place] ^ UInt8(1 << random.uniform(8))
            }
            #expect(FuzzedMessage.holds(input), "\(input)")
        }
    }

    @Test(
        arguments: [
            ([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, Frame.version], MessageError.tooLong),
            ([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, Frame.version], .tooLong),
            ([1, 0, 4, 0, 0, 0, 0, 0, Frame.version], .tooLong),
            ([0, 0, 0, 0, 1, 0, 0x10, 1, Frame.version], .tooLong),
            ([0, 0, 0, 0, 0, 0, 0, 0, Frame.version - 1], .otherVersion(Frame.version - 1)),
            ([0, 0, 0, 0, 0, 0, 0, 0, Frame.version + 1], .otherVersion(Frame.version + 1)),
            ([0, 0, 0, 0, 0, 0, 0, 0, Frame.version, 1, 1], .invalid),
        ] as [([UInt8], MessageError)]) func `a head that promises too much is refused before anything is read`(
            start: [UInt8], error: MessageError
        )
    {
        let bytes = start + [UInt8](repeating: 0, count: Frame.headLength - start.count)
        #expect(throws: error) { try MessageHead(bytes.span) }
    }

    private static let errors: [VaultError] = [
        .parameter(.classMissing), .parameter(.attributeValue("acct")), .parameter(.persistentReference),
        .parameter(.attributesWithReference), .parameter(.limit), .parameter(.matchKey), .parameter(.key("x")),
        .parameter(.userAttributeName), .parameter(.fieldName), .valueMismatch(path: "a.b[2]"), .cancelled,
        .noSuchAttribute("svce"), .noSuchClass, .duplicateItem, .itemNotFound, .accessGroupDenied, .locked,
        .unimplemented,
        .versionMismatch,
        .itemChanged, .agent(.notRunning), .agent(.gone), .agent(.otherVault), .agent(.refused),
        .agent(.protocolViolation), .agent(.busy), .agent(.unanswered), .agent(.olderVersion), .agent(.newerVersion),
        .presenceRequired,
        .storage(.noVault), .storage(.alreadyExists), .storage(.refused(.deviceSecret)),
        .storage(.refused(.notARegularFile)),
        .storage(.damaged(.header(.outOfBounds(.slotPasses)))), .storage(.damaged(.header(.notAVault))),
        .storage(.damaged(.marks)),
        .storage(.damaged(.frame(sequence: 4, nil))), .storage(.damaged(.frame(sequence: 4, .truncated(.padding)))),
        .storage(.damaged(.value(ItemID(random: [UInt8](1...16))))), .storage(.damaged(.markMismatch(sequence: .max))),
        .storage(.damaged(.values(sequence: 1))), .storage(.unsupported(.major)), .storage(.wrongPassphrase),
        .storage(.unacceptablePassphrase(.tooLong)), .storage(.unacceptableKeyFile), .storage(.noMatchingSlot),
        .storage(.busy),
        .storage(.resourceUnavailable), .storage(.inputOutput(.noSpace, .write)), .storage(.indeterminate(.ioError)),
        .storage(.poisoned),
        .storage(.rekeyed), .storage(.rolledBack), .storage(.locked), .storage(.forked), .storage(.valueTooLarge),
        .storage(.attributesTooLarge), .storage(.noStateDirectory), .storage(.slot(.cost)),
        .storage(.slot(.lastForPeople)), .storage(.machineSecret(.failed)),
        .storage(.unacceptableRecoveryCode(.group(3))),
        .notADeviceIdentifier, .closed, .insideTransaction,
        .storage(.unacceptableRecoveryCode(.length)), .storage(.damaged(.notAVault)),
        .storage(.damaged(.headerChecksum)),
        .storage(.damaged(.headerMAC)), .storage(.damaged(.keySlot)), .storage(.damaged(.readBack)),
        .storage(.damaged(.missingCommits(found: 1, expected: .max))),
        .storage(.damaged(.header(.unsupported(.major)))),
        .storage(.damaged(.header(.invalid(.padding)))), .storage(.inputOutput(Errno(rawValue: -1), .lock)),
    ]

    /// Does not compile without every case of an error: a new case needs an example above, and so a number.
    private static func isKnown(_ error: VaultError) -> Bool {
        switch error {
        case .noSuchClass, .duplicateItem, .itemNotFound, .accessGroupDenied, .locked, .unimplemented,
            .versionMismatch, .itemChanged, .notADeviceIdentifier, .closed, .insideTransaction, .cancelled,
            .presenceRequired, .noSuchAttribute, .valueMismatch, .migrationFailed, .agent:
            true
        case .parameter(let flaw):
            switch flaw {
            case .classMissing, .attributeValue, .persistentReference, .attributesWithReference, .limit, .matchKey,
                .key, .userAttributeName, .fieldName:
                true
            }
        case .storage(.damaged(let damage)):
            switch damage {
            case .notAVault, .headerChecksum, .headerMAC, .keySlot, .marks, .readBack, .header, .markMismatch,
                .missingCommits, .frame, .values, .value:
                true
            }
        case .storage(let error):
            switch error {
            case .noVault, .alreadyExists, .wrongPassphrase, .unacceptableKeyFile, .noMatchingSlot, .busy,
                .resourceUnavailable, .poisoned, .rekeyed, .rolledBack, .locked, .forked, .valueTooLarge,
                .attributesTooLarge, .noStateDirectory, .refused, .unsupported, .unacceptablePassphrase,
                .unacceptableRecoveryCode, .slot, .machineSecret, .inputOutput, .indeterminate, .damaged:
                true
            }
        }
    }

    @Test func `the examples have every case of an error`() {
        #expect(Self.errors.allSatisfy(Self.isKnown))
    }

    @Test(arguments: errors) func `every error comes back as it was thrown`(error: VaultError) throws {
        #expect(try FailureReply(parse(FuzzedMessage.bytes(FailureReply(error).frame(1)))).value == error)
    }

    @Test func `every error has a text, of which the library makes a sentence`() {
        let texts = Self.errors.map(\.text)
        for (error, text) in zip(Self.errors, texts) {
            #expect(text.first?.isLowercase == true && !text.hasSuffix("."))
            #expect(error.errorDescription == text.sentence)
        }
    }

    @Test func `every code of an error is tried, and one that means nothing is refused`() throws {
        func code(_ body: [UInt8]) -> UInt16 { UInt16(body[0]) | UInt16(body[1]) << 8 }
        let tried = Set(Self.errors.map { code(FailureReply($0).frame(1).body) })
        #expect(tried == Set(VaultError.cases.map(\.number)))
        let kind = FailureReply.kind
        for number in UInt16.min...UInt16.max where !tried.contains(number) {
            var body: [UInt8] = []
            body.append(integer: number)
            var head: [UInt8] = []
            head.append(integer: UInt32(2))
            head.append(integer: UInt32(0))
            head += [Frame.version, kind, 0, 0, 1, 0, 0, 0]
            #expect(throws: MessageError.invalid) { try FailureReply(parse(head + body)) }
        }
        // The argument of a code must be valid as well.
        for body: [UInt8] in [
            [13, 0, 0], [13, 0, 10], [55, 0, 99], [57, 0, 5], [59, 0, 0], [59, 0, 14], [60, 0, 1, 0, 0, 0, 0x78],
            [86, 0, 5],
        ] {
            var head: [UInt8] = []
            head.append(integer: UInt32(body.count))
            head.append(integer: UInt32(0))
            head += [Frame.version, kind, 0, 0, 1, 0, 0, 0]
            #expect(throws: MessageError.invalid) { try FailureReply(parse(head + body)) }
        }
    }

    private func head(_ bytes: [UInt8]) throws -> MessageHead {
        try MessageHead(bytes.span.extracting(0..<Frame.headLength))
    }

    private func parse(_ bytes: [UInt8]) throws -> Frame {
        let head = try head(bytes)
        let secrets = Frame.headLength + head.bodyLength
        return Frame(
            head, body: Array(bytes[Frame.headLength..<secrets]),
            secrets: head.secretsLength > 0 ? try Secret(bytes: Array(bytes[secrets...])) : nil)
    }

    private func isAccepted(_ frame: Frame) -> Bool {
        FuzzedMessage.types.contains { (try? $0.init(frame)) != nil }
    }
}

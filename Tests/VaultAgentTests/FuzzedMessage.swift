// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import SystemPackage
import TestSupport
import Vault
import VaultCrypto
import VaultStorage

@testable import VaultAgent

/// Parsers of both sides of the agent's socket. An accepted input is encoded again to the same bytes; every other input
/// is refused.
enum FuzzedMessage {
    static var seeds: [[UInt8]] {
        get throws {
            try messages.map { bytes($0.frame(7)) }
        }
    }

    /// The message types that have a seed.
    static let types: [any AgentMessage.Type] = {
        guard let messages = try? messages else { return [] }
        return Dictionary(messages.map { (type(of: $0).kind, type(of: $0)) }) { first, _ in first }.map(\.value)
    }()

    static var messages: [any AgentMessage] { get throws { try requests + replies } }

    static var requests: [any AgentRequest] {
        get throws {
            let item = Item(
                .internetPassword(server: "example.com", account: "ada", protocol: "htps", port: 443),
                attributes: [
                    .label: "l\u{20AC}", .comment: .data([0, 255]),
                    .creationDate: .date(Date(timeIntervalSinceReferenceDate: 1.5)),
                ],
                userAttributes: ["team": "web", "b": ""], accessible: .afterFirstUnlock,
                secret: try Secret(text: "s3cret"), fields: ["otp": try Secret(text: "seed"), "pin": ""])
            var query = Query(.genericPassword, service: "s", userAttributes: ["k": "v"], limit: .count(-3))
            query.conditions = [.trustedOnly, .policy]
            query.returnsSecrets = true
            query.leavesTombstones = false
            query.hostOrSubdomain = "h"
            query.text = "t"
            let changes = ItemChanges(
                attributes: [.isInvisible: true, .type: .real(1.5)], userAttributes: ["a": nil, "b": "c"],
                secret: try Secret(text: ""), fields: ["gone": nil, "otp": try Secret(text: "new")], version: 9)
            let bare = Item(.key(applicationLabel: [1]))
            let key = StoredItem.Key(id: [UInt8](repeating: 3, count: 16), valueVersion: 5)
            let unlocking: [UnlockingSecret] = [
                .passphrase(try .of("pass")),
                .keyFile(try KeyFile(digest: Secret(bytes: [UInt8](repeating: 7, count: 64)))),
                .recoveryCode(try RecoveryCode(SeededRandom("code"))),
                .external(try Secret(bytes: [UInt8](repeating: 8, count: 32))),
                .passphraseAndKeyFile(
                    try .of("both"), try KeyFile(digest: Secret(bytes: [UInt8](repeating: 9, count: 64)))),
            ]
            let others = [
                Behalf(process: 7, startTime: 8, sandbox: nil), Behalf(process: 9, startTime: 1, sandbox: "org.a.B"),
                Behalf(process: .max, startTime: .max, sandbox: ""),
            ].compactMap { $0 }
            let behalf = others.map { other in
                BehalfHelloRequest(greeting: Greeting(vault: "/v", groups: ["*"], purpose: .use), behalf: other)
            }
            let (question, ticket) = (QuestionID.random(SeededRandom("q")), Ticket.random(SeededRandom("t")))
            let answers: [PersonAnswer] = [.passphrase(try .of("pass")), .dismissed, .unanswered, .unavailable]
            var bounded = Query(.key)
            bounded.face = .program(["k": "v", "b": ""])
            (bounded.presence, bounded.leavesKeysClosed, bounded.findsIdentities) = (.leftOut, true, true)
            let presence: [any AgentRequest] =
                answers.map { AnswerRequest(question: question, answer: $0) } + [
                    AuthenticateRequest(reason: "r\u{202E}\n", passphrase: nil),
                    AuthenticateRequest(reason: nil, passphrase: try .of("pass")), PresentRequest(ticket),
                    QuestionsRequest(), CopyMatchingRequest(bounded),
                ]
            return presence + unlocking.map { UnlockRequest($0) } + behalf + [
                HelloRequest(Greeting(vault: "/v", groups: ["a", "*"], purpose: .use)),
                HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)),
                ProgramHelloRequest(Greeting(vault: "/v", groups: ["program"], purpose: .reveal)),
                StatusRequest(), TurnRequest(), LockRequest(), AddRequest(item), SetRequest(bare),
                ReplaceRequest(item: item, attributes: ["k": "v", "b": ""]),
                ReplaceRequest(item: bare, attributes: nil),
                CopyMatchingRequest(query), CopyMatchingRequest(Query(persistentReference: [1, 2])),
                UpdateRequest(query: Query(.key), changes: changes), DeleteRequest(Query(.certificate, label: "x")),
                StoreRequest([bare, item], replacing: true, deleting: [query, Query(.key)], isLast: false),
                SecretRequest(item: key, field: nil), SecretRequest(item: key, field: "otp"),
                RefusalRequest(item: key, isNew: true),
                CompactRequest(),
                VerifyRequest(deep: true), AuditRequest(),
                VersionsRequest(query: Query(.genericPassword, service: "s"), deleted: true),
                UndoRequest(key: key, version: 4), UndoRequest(key: key, version: nil), RestoreRequest(key),
                ForgetRequest("g"),
                DeviceIdentifierRequest(name: "com.example", thisDeviceOnly: true, reset: false),
                DeviceIdentifierRequest(name: "", thisDeviceOnly: false, reset: true), LockedCountRequest(query),
                WatchRequest(query: query, sequence: 7), WatchRequest(query: nil, sequence: nil), SequenceRequest(),
                IdleLimitRequest(600), StopRequest(), SyncRequest(withFingerprint: true),
                SyncRequest(withFingerprint: false), FleetRequest(), HasConflictRequest(key),
                HistoryLimitRequest(nil), HistoryLimitRequest(1000), DeletedItemsLimitRequest(nil),
                DeletedItemsLimitRequest(0), UnwatchRequest(7),
                PurgeHistoryRequest(queries: [query, query], onlyDeleted: true),
            ]
        }
    }

    static var replies: [any AgentReply] {
        get throws {
            let vault = try Vault.inMemory()
            let secret = try Secret(text: "one")
            var found = try vault.add(Item(.genericPassword(service: "s"), userAttributes: ["a": "b"], secret: secret))
            found.secret = secret
            let bare = try vault.add(Item(.key(applicationLabel: [1])))
            let status = AgentStatus(
                state: .locked, processID: 1, version: "0", vault: "/v", idleLimit: 600, maximum: 0, locksIn: 3,
                access: .injectOnly, groups: ["a", "b"], hasRules: true, isAuditing: true, clients: 2)
            let unconfined = AgentStatus(
                state: .new, processID: 1, version: "", vault: "", idleLimit: 0, maximum: 0, locksIn: nil,
                access: .full, isAuditing: false, clients: 0)
            let result = Verification(
                items: 1, values: 2, opened: 3, commits: 4, foreign: 5, unfinishedBytes: 6, invalidMarks: 1)
            return [
                DoneReply(), FailureReply(.storage(.damaged(.missingCommits(found: 3, expected: 5)))),
                StatusReply(status), StatusReply(unconfined), CountReply(7),
                ItemsReply([StoredItem(found), StoredItem(bare)].compactMap { $0 }, isLast: true), SecretReply(secret),
                SecretReply(nil), VerificationReply(result), IdentifierReply(UUID()),
                ChangesReply([]),
                ChangesReply([
                    ItemChange(.added, itemClass: .key, id: UUID(), sequence: 1), ItemChange(.many, sequence: 2),
                    ItemChange(.failed(.storage(.noVault)), sequence: .max), ItemChange(.locked, sequence: 3),
                ]),
                AuditReply(entries: 3, firstChanged: nil), AuditReply(entries: 3, firstChanged: 2),
                TicketReply(.random(SeededRandom("t"))), QuestionReply(nil),
                QuestionReply(
                    .asked(
                        PersonQuestion(
                            .random(SeededRandom("q")), process: 7, program: "p",
                            reason: String(repeating: "r", count: 999)))),
                QuestionReply(.withdrawn(.random(SeededRandom("q")))),
                SyncReply([1, 2, 3], isLast: false), SyncReply([], isLast: true),
            ]
        }
    }

    static func bytes(_ frame: Frame) -> [UInt8] {
        frame.open + frame.secrets.flatMap { secret in secret.withBytes { span in span.indices.map { span[$0] } } }
    }

    static func holds(_ input: [UInt8]) -> Bool {
        guard input.count >= Frame.headLength else { return (try? MessageHead(input.span)) == nil }
        guard let head = try? MessageHead(input.span.extracting(0..<Frame.headLength)) else { return true }
        let secrets = Frame.headLength + head.bodyLength
        guard input.count == secrets + head.secretsLength else { return true }
        let frame = Frame(
            head, body: Array(input[Frame.headLength..<secrets]),
            secrets: head.secretsLength > 0 ? try? Secret(bytes: Array(input[secrets...])) : nil)
        for type in types {
            if let message = try? type.init(frame), bytes(message.frame(head.number)) != input { return false }
        }
        return true
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault
import VaultFormat

@testable import VaultAgent
@testable import VaultAgentServer
@testable import VaultFleet

/// The agent's requests and replies match the table in its documentation.
struct MessageTableTests {
    private static let replies: [any AgentReply.Type] = [
        DoneReply.self, FailureReply.self, StatusReply.self, CountReply.self, ItemsReply.self, SecretReply.self,
        VerificationReply.self, AuditReply.self, IdentifierReply.self, ChangesReply.self,
        SyncReply.self, TicketReply.self, QuestionReply.self, ConflictReply.self,
    ]

    /// The rows of the table: number, message, reply.
    private static var documented: [[String]] {
        get throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../Sources/Vault/Vault.docc/Agent.md")
            let lines = try String(contentsOf: file.standardized, encoding: .utf8).split(separator: "\n")
            let start = try #require(lines.firstIndex(of: "| number | message | its reply |"))
            return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
                line.split(separator: "|").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
            }
        }
    }

    private static func row<Request: AgentRequest>(_ type: Request.Type) -> [String] {
        ["\(type.kind)", "\(type)", "\(Request.Reply.self)" + (isRepeated(type) ? ", again and again" : "")]
    }

    private static func isRepeated(_ type: any AgentRequest.Type) -> Bool {
        type is WatchRequest.Type || type is QuestionsRequest.Type
    }

    @Test func `the documentation has every message, with its number and its reply`() throws {
        let requests = ServedRequests.all.sorted { $0.kind < $1.kind }.map { Self.row($0) }
        #expect(try Self.documented == requests + Self.replies.map { ["\($0.kind)", "\($0)", ""] })
    }

    @Test func `no two messages have one number, and requests and replies have numbers of their own`() {
        let requests = ServedRequests.all.map { $0.kind }
        #expect(Set(requests).count == requests.count && requests.allSatisfy { (1..<128).contains($0) })
        #expect(Set(Self.replies.map { $0.kind }).count == Self.replies.count)
        #expect(Self.replies.allSatisfy { $0.kind >= 128 })
    }

    @Test func `nothing but a client's request is one`() throws {
        for kind in UInt8.min...UInt8.max where !ServedRequests.all.contains(where: { $0.kind == kind }) {
            let head = try MessageHead([0, 0, 0, 0, 0, 0, 0, 0, Frame.version, kind, 0, 0, 1, 0, 0, 0].span)
            #expect(throws: MessageError.invalid) {
                try ServedRequests.request(Frame(head, body: [], secrets: nil))
            }
        }
    }

    @Test func `a client that may do nothing may greet and ask for the state, and one that only injects little more`()
        throws
    {
        func permitted(_ access: AgentStatus.Access) throws -> Set<UInt8> {
            let caller = Caller(process: .own, access: access, groups: ["*"], purpose: .reveal)
            let member = NewMember(place: RemotePlace(url: ""), device: "")
            let requests: [any ServedRequest] = [
                HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)),
                ProgramHelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)), StatusRequest(), TurnRequest(),
                LockRequest(), StopRequest(), IdleLimitRequest(1), CompactRequest(), VerifyRequest(deep: true),
                AuditRequest(), CopyMatchingRequest(.init(.key)), LockedCountRequest(.init(.key)),
                SecretRequest(item: .init(id: [], valueVersion: 1), field: nil),
                UpdateRequest(query: .init(.key), changes: .init()),
                DeleteRequest(.init(.key)), StoreRequest([], replacing: true, isLast: true),
                AddRequest(.init(.genericPassword(service: "s"))), SetRequest(.init(.genericPassword(service: "s"))),
                ReplaceRequest(item: .init(.genericPassword(service: "s")), attributes: ["k": "v"]),
                VersionsRequest(query: .init(.key), deleted: false),
                UndoRequest(key: .init(id: [], valueVersion: 1), version: nil),
                RestoreRequest(.init(id: [], valueVersion: 1)), ForgetRequest(""),
                DeviceIdentifierRequest(name: "", thisDeviceOnly: false, reset: false),
                WatchRequest(query: nil, sequence: nil), SequenceRequest(), SyncRequest(withFingerprint: false),
                AuthenticateRequest(reason: nil, passphrase: nil), PresentRequest(.random(SeededRandom("t"))),
                QuestionsRequest(),
                AnswerRequest(question: .random(SeededRandom("q")), answer: .dismissed),
                HistoryLimitRequest(nil), PurgeHistoryRequest(queries: [], onlyDeleted: true), FleetRequest(),
                HasConflictRequest(.init(id: [], valueVersion: 1)), DeletedItemsLimitRequest(nil),
                UnwatchRequest(2), FollowingRequest(),
                RefusalRequest(item: .init(id: [], valueVersion: 1), isNew: true),
                AddRemoteRequest(RemotePlace(url: "")),
                RemoveRemoteRequest(""), AskingDeviceRequest(try Secret(text: "")),
                ApproveRequest(code: try Secret(text: ""), role: 1), ConflictsRequest(true),
                ResolveConflictRequest(key: .init(id: [], valueVersion: 1), field: "", number: 1, time: 0),
                DeviceSecretsRequest(""), RemoveDeviceRequest(""), ResolveRosterRequest(),
                FoundRequest(member, code: nil), RecoverRequest(member, code: try Secret(text: "")),
                AskToJoinRequest(member, code: try Secret(text: "")), AnswerToJoinRequest(try Secret(text: "")),
                CheckRemotesRequest(), RenewCodeRequest(nil),
                BehalfHelloRequest(
                    greeting: Greeting(vault: "", groups: nil, purpose: .reveal),
                    behalf: try #require(Behalf(process: 1, startTime: 0, sandbox: "a.b"))),
            ]
            return Set(requests.filter { $0.isPermitted(to: caller) }.map { type(of: $0).kind })
        }
        #expect(try permitted(.none) == [1, 2, 24, 28])
        #expect(try permitted(.injectOnly) == [1, 2, 3, 5, 8, 22, 24, 25, 26, 28, 29, 30, 38])
        #expect(try permitted(.full).count == 55)
    }
}

// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import SystemPackage
import TestSupport
import Vault
import VaultCrypto
import VaultStorage

@testable import VaultAgent

/// What both sides of the agent's socket parse. Whatever is accepted is written again byte for byte, and nothing else
/// ever comes of an input.
enum FuzzedMessage {
    static var seeds: [[UInt8]] {
        get throws {
            try requests.map { bytes($0.frame(7)) } + replies.map { bytes($0.frame(7)) }
        }
    }

    static var requests: [AgentRequest] {
        get throws {
            var item = Item(
                .internetPassword(server: "example.com", account: "ada", protocol: "htps", port: 443),
                attributes: [
                    .label: "l\u{20AC}", .comment: .data([0, 255]),
                    .creationDate: .date(Date(timeIntervalSinceReferenceDate: 1.5)),
                ],
                userAttributes: ["team": "web", "b": ""], accessible: .afterFirstUnlock,
                secret: try Secret(text: "s3cret"))
            var query = Query(.genericPassword, service: "s", userAttributes: ["k": "v"], limit: .count(-3))
            query.conditions = [.trustedOnly, .policy]
            query.returnsSecrets = true
            query.leavesTombstones = false
            query.hostOrSubdomain = "h"
            query.text = "t"
            let changes = ItemChanges(
                attributes: [.isInvisible: true, .type: .real(1.5)], userAttributes: ["a": nil, "b": "c"],
                secret: try Secret(text: ""), version: 9)
            let plain = item
            item.flaw = .parameter(.key("r_Data"))
            return [
                .hello(vault: "/v", groups: ["a", "*"], purpose: .use),
                .hello(vault: "", groups: nil, purpose: .reveal), .status,
                .awaitTurn,
                .unlock(.passphrase(try .of("pass"))),
                .unlock(.keyFile(try KeyFile(digest: Secret(bytes: [UInt8](repeating: 7, count: 64))))),
                .unlock(.recoveryCode(try RecoveryCode(SeededRandom("code")))),
                .unlock(.external(try Secret(bytes: [UInt8](repeating: 8, count: 32)))),
                .unlock(
                    .passphraseAndKeyFile(
                        try .of("both"), try KeyFile(digest: Secret(bytes: [UInt8](repeating: 9, count: 64))))),
                .lock, .add(item), .set(plain), .copyMatching(query),
                .copyMatching(Query(persistentReference: [1, 2])),
                .update(Query(.key), changes), .delete(Query(.certificate, label: "x")),
                .store([plain, item], replacing: true, isLast: false),
                .secret(StoredItem.Key(id: [UInt8](repeating: 3, count: 16), valueVersion: 5)), .compact,
                .verify(deep: true), .audit,
                .versions(Query(.genericPassword, service: "s"), deleted: true),
                .undo(StoredItem.Key(id: [UInt8](repeating: 3, count: 16), valueVersion: 5), to: 4),
                .undo(StoredItem.Key(id: [UInt8](repeating: 3, count: 16), valueVersion: 5), to: nil),
                .restoreItem(StoredItem.Key(id: [UInt8](repeating: 4, count: 16), valueVersion: 6)),
                .forget(accessGroup: "g"),
                .hello(vault: "/v", groups: ["program"], purpose: .reveal, isNamed: false),
                .deviceIdentifier(name: "com.example", thisDeviceOnly: true, reset: false),
                .deviceIdentifier(name: "", thisDeviceOnly: false, reset: true), .lockedCount(query),
                .setIdleLimit(600),
                .stop,
            ]
        }
    }

    static var replies: [AgentReply] {
        get throws {
            let vault = try Vault.inMemory()
            let secret = try Secret(text: "one")
            var found = try vault.add(Item(.genericPassword(service: "s"), userAttributes: ["a": "b"], secret: secret))
            found.secret = secret
            let bare = try vault.add(Item(.key(applicationLabel: [1])))
            let status = AgentStatus(
                state: .locked, processID: 1, version: "0", vault: "/v", idleLimit: 600, maximum: 0, locksIn: 3,
                access: .injectOnly,
                isAuditing: true, clients: 2)
            return [
                .done, .failure(.storage(.damaged(.missingCommits(found: 3, expected: 5)))), .status(status), .count(7),
                .items([StoredItem(found), StoredItem(bare)].compactMap { $0 }, isLast: true), .secret(secret),
                .secret(nil),
                .verification(
                    .init(items: 1, values: 2, opened: 3, commits: 4, foreign: 5, unfinishedBytes: 6, invalidMarks: 1)),
                .identifier(UUID()), .audit(entries: 3, firstChanged: nil), .audit(entries: 3, firstChanged: 2),
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
        if let request = try? AgentRequest(frame), bytes(request.frame(head.number)) != input { return false }
        if let reply = try? AgentReply(frame), bytes(reply.frame(head.number)) != input { return false }
        return true
    }
}

// SPDX-License-Identifier: Apache-2.0
import Testing
import Vault
import VaultCrypto
import VaultStorage

@testable import VaultAgent

/// The frames by which any program sees, unlocks, locks and ends any agent. No release may change these bytes.
struct ControlFrameTests {
    private static let greeting = Greeting(vault: "/v", groups: ["g"], purpose: .use)
    private static let greetingBody: [UInt8] = [2, 0, 0, 0, 0x2f, 0x76, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0x67, 2]

    @Test(arguments: [3, 4, 5] as [UInt8]) func `requests have the bytes of every version`(version: UInt8) throws {
        func bytes(_ kind: UInt8, _ body: [UInt8], secrets: UInt8 = 0) -> [UInt8] {
            [UInt8(body.count), 0, 0, 0, secrets, 0, 0, 0, version, kind, 0, 0, 7, 0, 0, 0] + body
        }
        #expect(HelloRequest(Self.greeting).frame(7, version: version).open == bytes(1, Self.greetingBody))
        #expect(ProgramHelloRequest(Self.greeting).frame(7, version: version).open == bytes(24, Self.greetingBody))
        #expect(StatusRequest().frame(7, version: version).open == bytes(2, []))
        #expect(LockRequest().frame(7, version: version).open == bytes(5, []))
        #expect(StopRequest().frame(7, version: version).open == bytes(16, []))
        let passphrase = try UnlockingSecret(
            .passphrase, parts: [Secret(try SecretBytes(copying: ([0x61, 0x62] as [UInt8]).span))])
        #expect(UnlockRequest(passphrase).frame(7, version: version).open == bytes(4, [1, 2, 0, 0, 0], secrets: 2))
    }

    private static let status: [UInt8] =
        [3] + [9, 0, 0, 0] + [3, 0, 0, 0] + Array("0.1".utf8) + [2, 0, 0, 0] + Array("/v".utf8)
        + [60, 0, 0, 0] + [120, 0, 0, 0] + [1, 30, 0, 0, 0] + [1] + [0] + [0] + [1] + [2, 0, 0, 0] + [0]

    private static func frame(_ version: UInt8, _ kind: UInt8, _ body: [UInt8]) throws -> Frame {
        let head: [UInt8] = [UInt8(body.count), 0, 0, 0, 0, 0, 0, 0, version, kind, 0, 0, 1, 0, 0, 0]
        return Frame(try MessageHead(head.span, version: version), body: body, secrets: nil)
    }

    @Test(arguments: [3, 4, 5] as [UInt8]) func `replies of every version are read`(version: UInt8) throws {
        let reply = try StatusReply(try Self.frame(version, 130, Self.status)).value
        #expect(
            reply
                == AgentStatus(
                    state: .unlocked, processID: 9, version: "0.1", vault: "/v", idleLimit: 60, maximum: 120,
                    locksIn: 30, access: .full, isAuditing: true, clients: 2))
        _ = try DoneReply(try Self.frame(version, 128, []))
        #expect(try FailureReply(try Self.frame(version, 129, [13, 0, 4])).value == .agent(.refused))
    }

    @Test func `another version may append to a reply, and this one may not`() throws {
        let longer = Self.status + [1, 2, 3]
        #expect(try StatusReply(try Self.frame(Frame.version + 1, 130, longer)).value.processID == 9)
        #expect(throws: MessageError.invalid) { try StatusReply(try Self.frame(Frame.version, 130, longer)) }
        #expect(throws: MessageError.truncated) {
            try StatusReply(try Self.frame(Frame.version + 1, 130, Self.status.dropLast(5)))
        }
    }
}

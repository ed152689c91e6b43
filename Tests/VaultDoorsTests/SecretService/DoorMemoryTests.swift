// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import VaultBus
import VaultCrypto
import VaultFormat

@testable import VaultSecretService

/// A client's end of a session that transfers secrets.
private struct ClientSession {
    let path: String
    private let key: Secret?

    init(_ client: BusClient, isEncrypted: Bool) throws {
        guard isEncrypted else {
            path = try client.plainSession()
            key = nil
            return
        }
        let group = try OakleyGroup2()
        let answer = try client.call("Service", "OpenSession") { message throws(BusError) in
            try message.append(ServiceSession.encryptedName)
            try message.append(variantOf: group.publicKey.span)
        }
        var peer: [UInt8] = []
        try answer.variant(of: "ay") { () throws(BusError) in peer = try answer.bytes(limit: 128) ?? [] }
        path = try answer.path()
        guard let shared = try group.shared(with: peer.span) else { throw CryptoError.authenticationFailed }
        key = Secret(try ForeignDerivation.hkdfSHA256(shared, count: 16))
    }

    /// Returns a secret in the session's form, with its initialization vector.
    func sealed(_ bytes: [UInt8]) throws(CryptoError) -> (bytes: [UInt8], vector: [UInt8]) {
        guard let key else { return (bytes, []) }
        let vector = [UInt8](repeating: 7, count: 16)
        let sealed = try ForeignCipher.sealedCBC(bytes.span, key: key.bytes, vector: vector.span)
        return (sealed.withBytes { $0.array($0.indices) }, vector)
    }

    /// Opens the secret of a message from the service.
    func opened(_ message: BusMessage) throws -> [UInt8] {
        var (vector, bytes): ([UInt8], [UInt8]) = ([], [])
        try message.structure(of: "oayays") { () throws(BusError) in
            _ = try message.path()
            vector = try message.bytes(limit: 16) ?? []
            bytes = try message.bytes(limit: 1 << 20) ?? []
            _ = try message.text()
        }
        guard let key else { return bytes }
        return try ForeignCipher.openedCBC(bytes.span, key: key.bytes, vector: vector.span).withBytes {
            $0.array($0.indices)
        }
    }
}

/// Only root may read another process's memory, which these tests do.
@Suite(.enabled(if: PrivateBus.isThere && getuid() == 0, "only root may read the memory of the doors"))
struct DoorMemoryTests {
    private static let sizes = [16, 300, 3 << 10, 40 << 10, 200 << 10]

    /// A content type that enlarges a short message behind the secret.
    private static let contentType = "text/plain; charset=" + String(repeating: "utf-8", count: 30)

    /// Stores secrets, reads them, replaces them, and reads the replacements, singly and together.
    private func use(_ client: BusClient, isEncrypted: Bool) throws -> [MarkedSecret] {
        let name = isEncrypted ? "encrypted" : "plain"
        let session = try ClientSession(client, isEncrypted: isEncrypted)
        var (made, paths, last): ([MarkedSecret], [String], [[UInt8]]) = ([], [], [])
        for size in Self.sizes {
            let secret = MarkedSecret("\(name), created, \(size)", count: size)
            let (bytes, vector) = try session.sealed(secret.bytes)
            let path = try client.create(
                ["size": "\(size)", "of": name], bytes, label: "a label of \(name)", session: session.path,
                contentType: Self.contentType, parameters: vector)
            #expect(try read(path, client, session) == secret.bytes)
            let other = MarkedSecret("\(name), set, \(size)", count: size)
            let (otherBytes, otherVector) = try session.sealed(other.bytes)
            try client.call("Item", "SetSecret", at: path) { message throws(BusError) in
                try BusClient.append(otherBytes, session.path, Self.contentType, otherVector, to: message)
            }
            #expect(try read(path, client, session) == other.bytes)
            made += [secret, other]
            paths.append(path)
            last.append(other.bytes)
        }
        let answer = try client.call("Service", "GetSecrets") { message throws(BusError) in
            try message.append(paths: paths)
            try message.append(path: session.path)
        }
        var read: [[UInt8]] = []
        try answer.dictionary(of: "o(oayays)") { () throws(BusError) in
            _ = try answer.path()
            do { read.append(try session.opened(answer)) } catch { throw .malformed }
        }
        #expect(read == last)
        return made
    }

    private func read(_ path: String, _ client: BusClient, _ session: ClientSession) throws -> [UInt8] {
        try session.opened(
            client.call("Item", "GetSecret", at: path) { message throws(BusError) in
                try message.append(path: session.path)
            })
    }

    @Test func `locked doors have no secret that went through them in memory, nor the passphrase`() async throws {
        try await aside {
            let passphrase = MarkedSecret("passphrase", count: 32)
            let world = try DoorWorld(passphrase.text)
            let client = try world.client()
            let prompt = try client.unlock([BusClient.login]).prompt
            let unlocked = try client.complete(prompt)
            #expect(!unlocked.isDismissed && unlocked.paths == [BusClient.login])
            var secrets = [passphrase]
            for isEncrypted in [false, true] { secrets += try use(client, isEncrypted: isEncrypted) }
            let memory = ProcessMemory(world.doors.processIdentifier)
            // Text that is not secret is found, as a control.
            #expect(try memory.finds(["label": Array("a label of encrypted".utf8)]) == ["label"])
            try client.lock()
            #expect(try client.flag("Collection", "Locked", at: BusClient.login))
            let traces = secrets.reduce(into: [:]) { $0.merge($1.traces) { $1 } }
            let found = try memory.finds(traces).sorted()
            #expect(found == [])
            #expect(try ProcessMemory(getpid()).finds(traces).count >= secrets.count)
        }
    }
}

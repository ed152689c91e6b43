// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync
@testable import VaultSyncEtcd

/// Faulty servers, and the messages about them.
@Suite(.enabled(if: EtcdServer.isThere), .serialized) struct EtcdFaultTests {
    private static let log = RecordStream.logs[0]

    private static func failure(_ body: () throws -> Void) throws -> RecordStoreError {
        do {
            try body()
        } catch let error as RecordStoreError { return error }
        Issue.record("nothing was thrown")
        return .stopped
    }

    private static func words(_ error: RecordStoreError) -> String {
        switch error {
        case .refused(let what, let hint): "refused: \(what) (\(hint ?? ""))"
        case .denied(let what): "denied: \(what)"
        case .unreachable(let what): "unreachable: \(what)"
        default: "\(error)"
        }
    }

    private static func heads(_ access: RemoteAccess) throws -> String {
        words(try failure { _ = try EtcdRecordStore(access, realm: .of(0xab)).heads() })
    }

    @Test func `a certificate that nobody vouches for is refused, and the words say how another one is taken`() throws {
        let server = try EtcdServer.shared.get()
        try EtcdServer.makeCertificate("other", in: server.directory)
        let said = try Self.heads(server.access(authorities: "other.pem"))
        #expect(said.hasPrefix("refused") && said.contains("127.0.0.1:\(server.port)") && said.contains("--ca-file"))
        // A loopback address without authorities means HTTP, which the server does not speak.
        #expect(try Self.heads(server.access(authorities: nil)).contains("--ca-file"))
        #expect(try Self.heads(server.access(authorities: "missing.pem")).contains("--ca-file"))
        // A name that is not in the certificate.
        let url = "etcd://ada@localhost:\(server.port)"
        #expect(try Self.heads(server.access(url)).contains("--ca-file"))
    }

    @Test func `a wrong password, none, and a user without a role are told apart`() throws {
        let server = try EtcdServer.shared.get()
        #expect(try Self.heads(server.access(password: "wrong")).contains("refuses the user or the password"))
        #expect(try Self.heads(server.access(user: "mallory")).contains("refuses the user or the password"))
        #expect(try Self.heads(server.access(password: nil)).contains("asks for a user and a password"))
        let said = try Self.heads(server.access(user: "nobody"))
        #expect(said.hasPrefix("denied") && said.contains("readwrite"))
    }

    @Test func `what a role may do is said without doing it`() throws {
        let server = try EtcdServer.shared.get()
        for (user, may) in [(EtcdServer.user, true), ("eve", false)] {
            let remote = server.access(user: user)
            let engines = RemoteEngines([.etcd: EtcdEngine()])
            let check = try #require(RemoteChecks([remote], .of(0x7e), bases: [:], engines).wait(.seconds(600)).first)
            #expect(check.failure == nil && check.mayAppend == may && check.mayRemove == may, "\(user)")
            #expect(check.isByTLS)
            #expect(try EtcdRecordStore(remote, realm: .of(0x7e)).heads().isEmpty)
        }
    }

    @Test func `a role that only reads reads, and what it may not do is denied`() throws {
        let server = try EtcdServer.shared.get()
        let realm = RealmID.of(0x77)
        _ = try server.store(realm: realm).append([.of(Self.log, 1)])
        let store = try EtcdRecordStore(server.access(user: "eve"), realm: realm)
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
        #expect(try store.heads().count == 1)
        let attempts: [() throws -> Void] = [
            { _ = try store.append([.of(Self.log, 2)]) }, { try store.remove(Self.log, below: 2) },
            { try store.remove(.blob, below: .max) }, { try store.remove(RecordAddress(Self.log, 1)) },
        ]
        for attempt in attempts { #expect(Self.words(try Self.failure(attempt)).hasPrefix("denied")) }
        #expect(try store.all(Self.log).count == 1)
    }

    @Test func `a full server says so, and keeps what it has`() throws {
        let server = try EtcdServer(EtcdServer.Options(quota: 2 << 20))
        let store = try server.store()
        var stored: [StoredRecord] = []
        let error = try Self.failure {
            for sequence in UInt64(1)...64 {
                let record = StoredRecord.of(Self.log, sequence, count: 250 << 10)
                _ = try store.append([record])
                stored.append(record)
            }
        }
        #expect(Self.words(error).contains("is full"))
        let found = try store.all(Self.log)
        #expect(found.starts(with: stored))
        // etcd executes the request that takes the last room, and still answers that there is no room.
        #expect(found.count - stored.count <= 1)
        #expect(try store.heads().first?.last == UInt64(found.count))
    }

    @Test func `a server that is killed and comes back has every record that it acknowledged`() throws {
        let server = try EtcdServer()
        let store = try server.store()
        let records = (1...40).map { StoredRecord.of(Self.log, UInt64($0)) }
        #expect(try store.append(Array(records.prefix(30))).allSatisfy { $0 == .created })
        let hints = Hints()
        let watch = try #require(try store.watch { hints.take($0) })
        server.kill()
        guard case .lost(.unreachable) = try #require(hints.next(1).first) else {
            Issue.record("the watch lives on")
            return
        }
        watch.end()
        #expect(Self.words(try Self.failure { _ = try store.append(records) }).hasPrefix("unreachable"))
        #expect(Self.words(try Self.failure { _ = try store.watch { _ in } }).hasPrefix("unreachable"))
        try server.start()
        // The earlier token was lost with the server.
        let results = try store.append(records)
        #expect(results.prefix(30).allSatisfy { $0 == .same } && results.dropFirst(30).allSatisfy { $0 == .created })
        #expect(try store.all(Self.log) == records)
    }

    @Test func `a snapshot that is put back is rolled back, and healed`() throws {
        let server = try EtcdServer()
        let (disk, clock) = (MemoryFileSystem(), ManualClock())
        let engines = RemoteEngines([.etcd: EtcdEngine()])
        let homes = try ["a", "b"].map { try Home($0, on: disk, clock: clock) }
        let fleets = try homes.map { try Fleet($0.vault, environment: $0.environment, engines: engines) }
        let access = server.access()
        func sync(_ index: Int) throws -> SyncOutcome {
            clock.advance(by: 1)
            return try fleets[index].sync()[0]
        }
        _ = try fleets[0].found(
            access.url, credentials: access.credentials, deviceName: "a")
        let attempt = try fleets[1].requestToJoin(
            access.url, credentials: access.credentials, deviceName: "b")
        _ = try fleets[0].approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        try homes[0].add("first", "1")
        for index in [0, 1, 0] { #expect(try sync(index).error == nil) }
        try server.save()
        for number in 2...6 {
            try homes[0].add("account \(number)", "\(number)")
            for index in [0, 1] { #expect(try sync(index).error == nil) }
        }
        // The server still requires a token: that of the open connections is newer than its restored data.
        try server.putBack()
        let healed = try sync(0)
        #expect(healed.error == nil)
        #expect((healed.alarms + healed.notes).contains { $0.kind == .rolledBack })
        for index in [1, 0, 1] { #expect(try sync(index).error == nil) }
        let last = try sync(0)
        #expect(last.error == nil && last.alarms.isEmpty)
        #expect(try homes[1].secrets() == homes[0].secrets())
        #expect(try homes[1].secrets().count == 6)
        #expect(try fleets[0].fingerprint() == fleets[1].fingerprint())
    }

    @Test func `the next of several hosts is asked when one does not answer`() throws {
        let server = try EtcdServer.shared.get()
        let dead = try BoundSocket()
        let url = "etcd://ada@127.0.0.1:\(dead.port),127.0.0.1:\(server.port)"
        let store = try EtcdRecordStore(server.access(url), realm: .of(0x55))
        #expect(try store.append([.of(Self.log, 1)]) == [.created])
        #expect(try store.watch { _ in } != nil)
        let said = try Self.heads(server.access("etcd://ada@127.0.0.1:\(dead.port)"))
        #expect(said.hasPrefix("unreachable") && said.contains("127.0.0.1:\(dead.port)"))
    }

    @Test func `a server without users wants no password, and one may ask for certificates`() throws {
        let server = try EtcdServer(EtcdServer.Options(hasAuth: false, asksForCertificates: true))
        var access = server.access()
        #expect(try Self.heads(access).contains("--certificate-file"))
        var credentials = access.credentials
        credentials.certificate = server.directory.path.appending("server.pem")
        credentials.key = server.directory.path.appending("server.key")
        credentials.password = "of no use"
        access = RemoteAccess(access.url, credentials)
        let store = try EtcdRecordStore(access, realm: .of(0xab))
        #expect(try store.append([.of(Self.log, 1)]) == [.created])
        #expect(try store.heads().count == 1)
    }
}

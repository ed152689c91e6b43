// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync
@testable import VaultSyncPostgres

/// A database as a store of records: admission, refusals, and durability.
@Suite(.enabled(if: PostgresServer.isInstalled))
struct PostgresStoreTests {
    private static let log = RecordStream.logs[0]

    private static func failure(_ remote: RemoteAccess, _ patience: PostgresPatience = PostgresPatience()) -> String {
        do throws(RecordStoreError) {
            _ = try PostgresRecordStore(remote, realm: .random(), patience: patience).heads()
            return "nothing failed"
        } catch {
            guard case .unreachable(let why) = error else { return "\(error)" }
            #expect(!why.contains("correct horse"))
            return why
        }
    }

    // MARK: Who gets in

    @Test func `what a user may do is said without doing it`() throws {
        let server = try PostgresServer.shared.get()
        try server.makeDatabase("rights")
        try server.sql(
            "CREATE ROLE looker LOGIN PASSWORD '\(PostgresServer.password)'; GRANT USAGE ON SCHEMA vault TO looker;"
                + "GRANT SELECT ON vault.record TO looker;", in: "rights")
        for (user, mayAppend, mayRemove) in [
            ("trimmer", true, true), ("writer", true, false), ("looker", false, false),
        ] {
            let remote = try server.access(user, database: "rights")
            let engines = RemoteEngines([.postgres: PostgresEngine()])
            let check = try #require(RemoteChecks([remote], .of(1), bases: [:], engines).wait(.seconds(600)).first)
            #expect(check.failure == nil && check.mayAppend == mayAppend && check.mayRemove == mayRemove, "\(user)")
        }
        let stranger = try server.access("stranger", database: "rights")
        let engines = RemoteEngines([.postgres: PostgresEngine()])
        let check = try #require(RemoteChecks([stranger], .of(1), bases: [:], engines).wait(.seconds(600)).first)
        guard case .store(.denied(let what))? = check.failure else {
            Issue.record("a stranger may do nothing: \(check)")
            return
        }
        #expect(what.contains("vault_sync"))
    }

    @Test func `a server is known by its certificate and its name`() throws {
        let server = try PostgresServer.shared.get()
        #expect(try PostgresRecordStore(server.access(), realm: .random()).heads().isEmpty)
        let other = try Self.failure(server.access(authorities: "other.pem"))
        #expect(other.contains("certificate verify failed"))
        #expect(try Self.failure(server.access(host: "127.0.0.1")).contains("does not match host name"))
        #expect(try Self.failure(server.access(authorities: "missing.pem")).contains("does not exist"))
    }

    @Test func `a server of this machine needs no certificate, and a socket no password`() throws {
        let server = try PostgresServer.shared.get()
        let realm = RealmID.random()
        let plain = try PostgresRecordStore(server.access(host: "127.0.0.1", authorities: nil), realm: realm)
        #expect(try plain.append([.of(Self.log, 1)]) == [.created])
        #expect(try PostgresRecordStore(server.socketAccess(), realm: realm).all(Self.log) == [.of(Self.log, 1)])
    }

    @Test func `what the server refuses is said in words, without a password`() throws {
        let server = try PostgresServer.shared.get()
        let wrong = try server.access(password: Secret(stringLiteral: "battery staple"))
        #expect(Self.failure(wrong).contains("password of the URL's user is wrong"))
        #expect(!Self.failure(wrong).contains("battery"))
        #expect(try Self.failure(server.access(password: nil)).contains("password"))
        #expect(try Self.failure(server.access(database: "nowhere")).contains("no such database"))
        #expect(try Self.failure(server.access(database: "empty")).contains("'vault remote sql' prints"))
        #expect(try Self.failure(server.access("stranger")).contains("needs the role vault_sync"))
        #expect(try Self.failure(server.access("nobody")).contains("wrong, or missing"))
    }

    @Test func `a database that can only be read is no remote`() throws {
        let server = try PostgresServer.shared.get()
        try server.sql("CREATE DATABASE readable;", in: "postgres")
        try server.sql("ALTER DATABASE readable SET default_transaction_read_only = on;", in: "postgres")
        #expect(try Self.failure(server.access(database: "readable")).contains("can only be read"))
    }

    @Test func `a server that does not answer is waited for no longer than that`() throws {
        let descriptor = try PostgresServer.listener()
        defer { close(descriptor) }
        var patience = PostgresPatience()
        patience.connecting = .milliseconds(100)
        let url = try RemoteURL("postgres://ada@127.0.0.1:\(PostgresServer.boundPort(descriptor))/vault")
        #expect(Self.failure(RemoteAccess(url), patience).contains("does not answer"))
    }

    @Test func `a server that hangs in a transaction is waited for no longer than that`() throws {
        let server = try PostgresServer.shared.get()
        var patience = PostgresPatience()
        patience.answering = .milliseconds(300)
        let realm = RealmID.random()
        let store = try PostgresRecordStore(server.socketAccess(), realm: realm, patience: patience)
        let other = try PostgresConnection.open(server.socketAccess(), PostgresPatience())
        var hasGivenUp = false
        // An open transaction holds the address.
        let values: [PostgresValue] = [
            .bytea(realm), .smallint(1), .bytea(Self.log.name), .bigint(1), .bytea(StoredRecord.of(Self.log, 1).bytes),
        ]
        try other.exchangeAll([.statement(PostgresStatement("BEGIN"), []), .end])
        try other.exchangeAll([.statement(.insert, values), .end])
        do throws(RecordStoreError) { _ = try store.append([.of(Self.log, 1)]) } catch {
            guard case .unreachable(let why) = error else { throw error }
            hasGivenUp = why.contains("does not go on")
        }
        #expect(hasGivenUp)
        try other.exchangeAll([.statement(PostgresStatement("COMMIT"), []), .end])
        let again = try PostgresRecordStore(server.socketAccess(), realm: realm)
        #expect(try again.append([.of(Self.log, 1)]) == [.same])
    }

    @Test func `each address of a host is tried by itself, and its certificate is that of the host`() throws {
        let remote = RemoteAccess(try RemoteURL("postgres://ada@db.example,localhost:1,%2Frun/vault"))
        let hosts = remote.url.hosts
        let found = try PostgresAddress.all(of: hosts[0], remote, within: .seconds(60)) { name in
            name == "db.example" ? ["2001:db8::1", "192.0.2.1"] : []
        }
        func values(_ keyword: String, _ addresses: [PostgresAddress]) -> [String?] {
            addresses.map { address in address.keywords.first { $0.name == keyword }?.value }
        }
        #expect(values("hostaddr", found) == ["2001:db8::1", "192.0.2.1"])
        #expect(values("host", found) == ["db.example", "db.example"])
        #expect(values("sslmode", found) == ["verify-full", "verify-full"])
        func here(_ host: RemoteURL.Host) throws -> [PostgresAddress] {
            // A loopback name is not looked up.
            try PostgresAddress.all(of: host, remote, within: .zero) { _ in ["192.0.2.9"] }
        }
        #expect(try values("hostaddr", here(hosts[1])) == ["127.0.0.1", "::1"])
        #expect(try values("hostaddr", here(hosts[2])) == [nil])
    }

    @Test func `a look-up of a name is waited for no longer than that, and may find nothing`() throws {
        let (asked, answer) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        func failure(_ patience: Duration, _ lookUp: @escaping HostLookUp.Method) -> PostgresError? {
            do throws(PostgresError) {
                _ = try HostLookUp.addresses(of: "db.example", within: patience, by: lookUp)
                return nil
            } catch { return error }
        }
        let late = failure(.milliseconds(50)) { _ in
            answer.wait()
            asked.signal()
            return ["192.0.2.1"]
        }
        #expect(late == .lost("no server of names says where db.example is"))
        answer.signal()
        #expect(asked.wait(timeout: Patience.deadline) == .success)
        #expect(failure(.seconds(600)) { _ in [] } == .lost("there is no host db.example"))
        #expect(HostLookUp.bySystem("127.0.0.1") == ["127.0.0.1"] && HostLookUp.bySystem("::1") == ["::1"])
    }

    @Test func `news that nobody asked for does not pile up between two questions`() throws {
        let server = try PostgresServer.shared.get()
        let connection = try PostgresConnection.open(server.socketAccess(), PostgresPatience())
        try connection.exchangeAll([.statement(.listen("vault_mine"), []), .end])
        let news = PostgresStep.statement(.notify, [.text("vault_mine"), .text("1")])
        try connection.exchangeAll([news, .end])
        try connection.exchangeAll([.end])
        #expect(connection.notifications().isEmpty)
    }

    // MARK: Records

    @Test func `without the right to remove, what would go stays, and that is said`() throws {
        let server = try PostgresServer.shared.get()
        let realm = RealmID.random()
        let store = try PostgresRecordStore(server.access("writer"), realm: realm)
        let records = (1...3).map { StoredRecord.of(Self.log, $0) }
        _ = try store.append(records)
        for removal in [
            { try store.remove(Self.log, below: 3) }, { try store.remove(RecordAddress(Self.log, 3)) },
        ] as [() throws -> Void] {
            do {
                try removal()
                Issue.record("it was removed")
            } catch RecordStoreError.denied(let what) {
                #expect(what.contains("vault_trim"))
            }
        }
        #expect(try store.all(Self.log) == records)
        try PostgresRecordStore(server.access(), realm: realm).remove(Self.log, below: 3)
        #expect(try store.all(Self.log) == [records[2]])
        #expect(try store.heads().map(\.count) == [1])
    }

    @Test func `a batch of many, large and small, is stored in order and read back in pages`() throws {
        let server = try PostgresServer.shared.get()
        let store = try PostgresRecordStore(server.access(), realm: .random())
        let records = (1...60).map { StoredRecord.of(Self.log, $0, count: $0 % 2 == 0 ? 256 << 10 : 64) }
        #expect(try store.append(records) == [Appended](repeating: .created, count: 60))
        #expect(try store.append(records + [.of(Self.log, 61)]).last == .created)
        #expect(try store.all(Self.log).count == 61)
        #expect(try store.all(Self.log, from: 31) == Array(records[30...]) + [.of(Self.log, 61)])
        #expect(try store.record(at: RecordAddress(Self.log, 2)) == records[1].bytes)
        #expect(try store.record(at: RecordAddress(Self.log, 62)) == nil)
    }

    @Test func `the heads between two counts follow what is stored, removed and missing`() throws {
        let server = try PostgresServer.shared.get()
        let realm = RealmID.random()
        let (store, other) = (
            try PostgresRecordStore(server.access(), realm: realm),
            try PostgresRecordStore(server.access(), realm: realm)
        )
        _ = try store.append([.of(Self.log, 1), .of(.blob, 1)])
        #expect(try store.heads().map(\.count) == [1, 1])
        _ = try store.append([.of(Self.log, 2), .of(.blob, 2)])
        _ = try other.append([.of(Self.log, 3), .of(.logs[1], 5), .of(.logs[1], 8)])
        #expect(
            try store.heads() == [
                StreamHead(Self.log, first: 1, last: 3, count: 3), StreamHead(.logs[1], first: 5, last: 8, count: 2),
                StreamHead(.blob, first: 1, last: 2, count: 2),
            ])
        _ = try other.append([.of(.logs[1], 6), .of(.logs[1], 7)])
        try store.remove(.blob, below: .max)
        #expect(try store.heads().map(\.isWhole) == [true, true])
    }

    @Test func `the fleets of a database are found, and joining devices are none`() throws {
        let server = try PostgresServer.shared.get()
        let (engine, access) = (PostgresEngine(), try server.access())
        let realms = [RealmID.random(), .random()].sorted()
        for realm in realms + [.zero] {
            _ = try engine.store(at: access, realm: realm).append([.of(Self.log, 1), .of(Self.log, 2)])
        }
        let found = try engine.realms(at: access)
        #expect(realms.allSatisfy(found.contains) && !found.contains(.zero) && found == found.sorted())
        try engine.store(at: access, realm: .zero).remove(Self.log, below: .max)
    }

    // MARK: Ends

    @Test func `what is acknowledged outlasts a server that is killed, and is the same when it comes again`() throws {
        let server = try PostgresServer()
        let store = try PostgresRecordStore(server.access(), realm: .random())
        let lost = Mutex<[RecordHint]>([])
        let ended = DispatchSemaphore(value: 0)
        let watch = try #require(
            try store.watch { hint in
                guard case .lost = hint else { return }
                lost.withLock { $0.append(hint) }
                ended.signal()
            })
        let records = (1...20).map { StoredRecord.of(Self.log, $0) }
        #expect(try store.append(records).allSatisfy { $0 == .created })
        try server.kill()
        #expect(ended.wait(timeout: Patience.deadline) == .success)
        try server.start()
        #expect(
            try store.append(records + [.of(Self.log, 21)])
                == [Appended](repeating: .same, count: 20) + [.created])
        #expect(try store.all(Self.log).count == 21)
        watch.end()
        #expect(lost.withLock { $0.count } == 1)
    }

    @Test func `others hear of a record at once, and of nothing once they have ended`() throws {
        let server = try PostgresServer.shared.get()
        let realm = RealmID.random()
        let store = try PostgresRecordStore(server.access("writer"), realm: realm)
        let heard = Mutex<[RecordHint]>([])
        let came = DispatchSemaphore(value: 0)
        let watch = try #require(
            try store.watch { hint in
                heard.withLock { $0.append(hint) }
                came.signal()
            })
        _ = try store.append([.of(Self.log, 1)])
        #expect(came.wait(timeout: Patience.deadline) == .success)
        _ = try store.append((2...20).map { .of(Self.log, $0) })
        for _ in 0..<2 { #expect(came.wait(timeout: Patience.deadline) == .success) }
        let last: [UInt64] = [1, 17, 20]
        #expect(heard.withLock { $0 } == last.map { RecordHint.appended(Self.log, $0) })
        watch.end()
        _ = try store.append([.of(Self.log, 21)])
        #expect(heard.withLock { $0.count } == 3)
    }

    @Test(arguments: [
        "", "1", "4 \(RecordStream.logs[0].name.text) 1", "1 \(RecordStream.logs[0].name.text) 0", "1 x 2",
    ])
    func `a notice that makes no sense is a hint that something changed`(text: String) {
        #expect(RecordHint(text) == .changed)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

struct RemoteURLTests {
    @Test(
        arguments: [
            ("FILE:///srv/a%20b/../c", "file:///srv/c"), ("file://localhost/srv", "file:///srv"),
            ("file:///srv/what?", "file:///srv/what%3F"), ("ssh://host/srv", "ssh://host/srv"),
            ("ssh://Ada@Host.Example:2222/srv/", "ssh://Ada@host.example:2222/srv"),
            ("ssh://[FE80::1%25eth0]:22/srv", "ssh://[fe80::1%25eth0]:22/srv"),
            ("etcd://[fe80::1%Wlan0]", "etcd://[fe80::1%25Wlan0]"),
            ("postgresql://ada@db/vault", "postgres://ada@db/vault"),
            ("postgres://ada@one:5432,two:5433/vault", "postgres://ada@one,two:5433/vault"),
            ("postgres://ada@%2Frun%2Fpostgresql/vault", "postgres://ada@%2Frun%2Fpostgresql/vault"),
            ("etcd://host:2379/", "etcd://host"), ("etcd://ada@one,two,three:1", "etcd://ada@one,two,three:1"),
            ("postgres://ada@%2Frun%2Fa%3Ab:1/v", "postgres://ada@%2Frun%2Fa%3Ab:1/v"),
            ("ssh://host:22/srv", "ssh://host:22/srv"), ("postgres://a%40b@db/v", "postgres://a%40b@db/v"),
        ])
    func `a URL is kept in one form`(_ text: String, form: String) throws {
        let url = try RemoteURL(text)
        #expect(url.text == form)
        #expect(try RemoteURL(form) == url)
    }

    @Test(
        arguments: [
            "postgres://ada:secret@db/vault", "postgres://ada%3Asecret@db/vault", "etcd://ada:secret@host",
            "ssh://ada:secret@host/srv", "file://ada:secret@host/srv", "file://ada@/srv", "file://host/srv",
            "postgres://ada@db/vault?password=secret", "etcd://host#x", "ssh://host/srv?x",
            "ssh://-oProxyCommand=id/srv", "ssh://-l@host/srv", "ssh://%2DoProxyCommand/srv", "ssh://a b@host/srv",
            "ssh://host;id/srv", "ssh://$(id)/srv", "ssh://host", "ssh://one,two/srv", "ssh:///srv", "ssh://host:0/srv",
            "ssh://host:65536/srv", "ssh://host:+1/srv", "ssh://[x/srv", "ssh://[::1]x/srv", "ssh://[]/srv",
            "postgres://db", "postgres://db/", "postgres://db/a/b", "postgres://,/v", "postgres:///v",
            "postgres://db/%00",
            "postgres://db/%0A", "etcd://", "etcd://host/path", "etcd://a,,b", "ssh://my_$(id):z:22/dir",
            "ssh://-oProxyCommand=x:y:22/a", "ssh://a:1:2/srv", "ssh://h:/srv", "file:///%+A", "ssh://[::1$(id)]/srv",
            "etcd://[::1%25]", "etcd://[::1%25a%25b]", "etcd://[%25a]",
            "http://host", "file:/srv", "srv", "",
            "://host", "file://", "file:///%zz", "file:///%00", "ssh://%ff/srv", " ssh://host/srv", "ssh:/host/srv",
            "ssh:host/srv", "ssh://host\\@other/srv", "ssh://host\\/srv", "ssh://a@b@host/srv", "ssh://host?@other/srv",
            "ssh://host#@other/srv", "ssh://ban\u{212a}/srv", "\u{17f}sh://host/srv", "ssh://ho\tst/srv",
            "etcd://@host",
            "ssh://@/srv", "etcd://:2379", "file:\\\\\\srv",
        ])
    func `a password, an option, a query and what no host is called are refused`(text: String) {
        let error = #expect(throws: SyncError.self) { _ = try RemoteURL(text) }
        guard case .url(let what)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(!what.contains("secret"))
    }

    @Test func `every URL that is taken is read back as what it is`() {
        let random = SeededRandom("urls")
        let parts = [
            "/", ":", "@", "[", "]", "%", "%2F", "%3A", "%25", ",", "-", "::1", "22", "host", "run", "$(id)", " ", "?",
            "ü",
            ".", "0",
        ]
        var taken = 0
        for _ in 0..<50_000 {
            let scheme = random.element(of: ["ssh://", "file://", "postgres://", "etcd://"])
            let rest = (0..<random.number(in: 1...8)).map { _ in random.element(of: parts) }
            let text = scheme + rest.joined()
            guard let url = try? RemoteURL(text) else { continue }
            taken += 1
            guard (try? RemoteURL(url.text)) == url else {
                Issue.record("\(text): \(url.text)")
                return
            }
        }
        #expect(taken > 1000)
    }

    @Test func `what a device shows a server is kept on the device, and goes with the remote`() throws {
        let home = try Home.fleet(["a"])[0]
        let url = try RemoteURL("etcd://ada@host")
        let engine = AbsentEngine()
        let fleet = try Fleet(
            home.vault, environment: home.environment,
            engines: RemoteEngines([.file: FolderEngine(home.environment), .etcd: engine]))
        let shown = RemoteCredentials(password: "s3cret", authorities: "/ca", certificate: "/own", key: "/key")
        try fleet.addRemote(url, credentials: shown)
        let known = try #require(try fleet.membership().remotes.first { $0.url == url })
        #expect(known.access.credentials.password?.withBytes { $0.array } == Array("s3cret".utf8))
        #expect(known.access.credentials.authorities == "/ca")
        #expect(known.access.credentials.certificate == "/own")
        #expect(known.access.credentials.key == "/key")
        let outcomes = try fleet.sync()
        #expect(outcomes.first { $0.url == url }?.error == .store(.unreachable("host")))
        // Each sync stores the state of a remote anew.
        let after = try #require(try fleet.membership().remotes.first { $0.url == url })
        #expect(after.access.credentials.password?.withBytes { $0.array } == Array("s3cret".utf8))
        try fleet.removeRemote(url)
        let passwords = try home.vault.readReplica { table throws(VaultError) in try table.ownRecords(.password) }
        #expect(passwords.isEmpty)
    }

    @Test func `a remote that is added again is shown what is new, and the rest as before`() throws {
        let home = try Home.fleet(["a"])[0]
        let url = try RemoteURL("etcd://ada@host")
        let fleet = try Fleet(
            home.vault, environment: home.environment,
            engines: RemoteEngines([.file: FolderEngine(home.environment), .etcd: AbsentEngine()]))
        try fleet.addRemote(url, credentials: RemoteCredentials(password: "s3cret", authorities: "/ca"))
        _ = try fleet.sync()
        func known() throws -> Fleet.KnownRemote {
            try #require(try fleet.membership().remotes.first { $0.url == url })
        }
        let state = try known().state.encoded()
        for (credentials, password, authorities) in [
            (RemoteCredentials(), "s3cret", "/ca"), (RemoteCredentials(password: "n3w"), "n3w", "/ca"),
            (RemoteCredentials(authorities: "/other"), "n3w", "/other"),
        ] {
            try fleet.addRemote(url, credentials: credentials)
            let shown = try known().access.credentials
            #expect(shown.password?.withBytes { $0.array } == Array(password.utf8))
            #expect(shown.authorities?.string == authorities)
            #expect(try known().state.encoded() == state)
            #expect(try fleet.membership().remotes.count == 2)
        }
    }

    @Test func `no copy of a vault has the password of a server`() throws {
        let home = try Home.fleet(["a"])[0]
        let fleet = try Fleet(
            home.vault, environment: home.environment,
            engines: RemoteEngines([.file: FolderEngine(home.environment), .etcd: AbsentEngine()]))
        try fleet.addRemote(try RemoteURL("etcd://ada@host"), credentials: RemoteCredentials(password: "s3cret"))
        let secret = UnlockingSecret.passphrase(try .of("correct horse"))
        try home.vault.backUp(to: "/a/copy.vault")
        home.vault.close()
        _ = try DamagedVault(at: "/a/v.vault", environment: home.environment)
            .salvage(with: secret, to: "/a/saved.vault", accepts: { _ in true })
        for (path, kinds) in [
            ("/a/v.vault", [OwnRecord.identity, .password]), ("/a/copy.vault", []), ("/a/saved.vault", []),
        ] as [(FilePath, [OwnRecord])] {
            let vault = try LockedVault(at: path, environment: home.environment).unlock(with: secret)
            let there = try vault.readReplica { table throws(VaultError) in
                var there: [OwnRecord] = []
                for kind in [OwnRecord.identity, .password] where try !table.ownRecords(kind).isEmpty {
                    there.append(kind)
                }
                return there
            }
            #expect(there == kinds, "\(path)")
        }
    }
}

/// A server that does not exist.
private struct AbsentEngine: RemoteEngine {
    func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        throw .unreachable(remote.url.hosts[0].name)
    }

    func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] { [] }
}

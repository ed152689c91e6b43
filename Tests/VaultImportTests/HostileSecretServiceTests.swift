// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultImport

/// Imports from a provider that lies, errs or stays silent: an error or a skipped item, beside the valid items.
@Suite(.enabled(if: SecretServiceWorld.hasBus))
struct HostileSecretServiceTests {
    private func reasons(_ imported: ImportedLogins) -> [String: String] {
        Dictionary(imported.skipped.map { ($0.place, $0.reason) }) { $0 + ", " + $1 }
    }

    private func names(_ imported: ImportedLogins) -> [String] { imported.logins.map { $0.title } }

    // MARK: The bus and the session

    @Test func `a bus that is not there, a bus without a provider and a provider that hangs are errors`() throws {
        #expect(
            failure { _ = try SecretServiceSource(address: "unix:path=/nowhere/at/all") }
                .hasPrefix("service(\"the bus of the session cannot be reached\""))
        #expect(
            failure { _ = try SecretServiceSource(address: "no address") }
                .hasPrefix("service(\"the bus of the session cannot be reached\""))
        let empty = try SecretServiceWorld("nothing")
        #expect(failure { _ = try empty.source() }.hasPrefix("service(\"no program provides org.freedesktop.secrets\""))
        let silent = try SecretServiceWorld("provider", "silence")
        #expect(
            failure { _ = try silent.logins(patience: .milliseconds(200)) }
                .hasPrefix("service(\"what provides org.freedesktop.secrets does not answer\""))
    }

    @Test(arguments: ["y=", "y=0", "y=1", "y=p-1", "y=129", "y-type", "session-path"])
    func `a session whose key is none is refused`(scenario: String) throws {
        let world = try SecretServiceWorld("provider", scenario)
        #expect(
            failure { _ = try world.logins() }.hasPrefix("malformed(Optional(\"an answer of org.freedesktop.secrets\""))
        #expect(try !world.ask("asked").contains("GetSecrets"))
    }

    @Test func `a provider that knows no encryption is read in plain`() throws {
        let world = try SecretServiceWorld("provider", "plain")
        let imported = try world.logins()
        #expect(imported.logins.map { $0.password?.exposed } == (0..<10).map { Array("i\($0)".utf8) })
    }

    /// Only root may read another process's memory, which this test does.
    @Test(.enabled(if: getuid() == 0))
    func `nothing stays in memory of secrets that came in plain`() throws {
        let world = try SecretServiceWorld("provider", "marked")
        do {
            let imported = try world.logins()
            #expect(try world.ask("seen \(getpid())") == "10")
            #expect(imported.logins.count == 10)
        }
        #expect(try world.ask("seen \(getpid())") == "0")
    }

    @Test func `a bus that goes away in the middle is an error`() throws {
        let world = try SecretServiceWorld("provider", "bus-gone")
        #expect(
            failure { _ = try world.logins() }
                .hasPrefix("service(\"the bus, or what provides org.freedesktop.secrets on it, went away\""))
        let other = try SecretServiceWorld("provider", "good")
        let source = try other.source()
        try other.ask("stop")
        #expect(failure { _ = try source.logins() }.hasPrefix("service("))
    }

    // MARK: Objects

    @Test func `answers of other types are errors, or skip what they are about`() throws {
        for scenario in ["collections-type", "no-dictionary"] {
            let world = try SecretServiceWorld("provider", scenario)
            #expect(failure { _ = try world.logins() }.hasPrefix("malformed("), "\(scenario)")
        }
        let collection = try SecretServiceWorld("provider", "collection-type").logins()
        #expect(collection.logins.isEmpty)
        #expect(reasons(collection) == ["collection 1": "its provider does not say what is in it"])
        for scenario in ["secrets-type", "other-items"] {
            let imported = try SecretServiceWorld("provider", scenario).logins()
            #expect(imported.logins.isEmpty && imported.skipped.count == 10)
            #expect(imported.skipped.allSatisfy { $0.reason == "its provider does not give its secret" })
        }
    }

    @Test func `objects elsewhere are not asked, and none is asked twice`() throws {
        let world = try SecretServiceWorld("provider", "paths")
        let imported = try world.logins()
        #expect(names(imported) == ["Item i0"])
        #expect(
            reasons(imported) == [
                "collection 1": "its provider does not say what is in it",
                "collection 2": "its provider does not say what is in it",
                "collection 3":
                    "an item is none of the service's objects, an item is none of the service's objects",
            ])
        #expect(try world.ask("asked").split(separator: " ").count { $0 == "GetAll" } == 3)
    }

    @Test func `too many collections and items are errors, and thousands are not`() throws {
        #expect(
            failure { _ = try SecretServiceWorld("provider", "collections").logins() }
                .hasPrefix("tooLarge(Optional(\"the list of collections\")"))
        #expect(
            failure { _ = try SecretServiceWorld("provider", "huge").logins() }
                .hasPrefix("tooLarge(Optional(\"collection 1\")"))
        var progress: [Double] = []
        let imported = try SecretServiceWorld("provider", "many").logins { progress.append($0) }
        #expect(imported.logins.count == 3000 && imported.skipped.isEmpty)
        #expect(progress.count == 30 && progress == progress.sorted() && progress.last == 1)
    }

    @Test func `an item with properties that cannot be is skipped, and one without comes`() throws {
        let imported = try SecretServiceWorld("provider", "properties").logins()
        let unknown = "its provider does not say what it is"
        let large = "its label and attributes have more than 48 KiB"
        #expect(
            reasons(imported) == [
                "collection 1, item 1": unknown, "collection 1, item 2": unknown, "collection 1, item 3": unknown,
                "collection 1, item 4": large, "collection 1, item 5": large, "collection 1, item 6": large,
            ])
        #expect(names(imported) == ["", "Item i7", "Item i8", "Item i9"])
        let directory = try TemporaryDirectory()
        let vault = try Vault.create(
            at: directory.path.appending("a.vault"), keyFile: KeyFile(SecretBytes(random: 32)),
            accessGroups: .standard)
        var plan = try ImportPlan(imported, of: "secret-service", in: vault, group: nil, replaces: false)
        try plan.carryOut { _ in }
        #expect(plan.report.count(.added) == 4)
        let odd = try #require(vault.copyMatching(Query(.genericPassword, service: "Item i7")).first)
        let user = odd.userAttributes
        #expect(user["a\tb"] == "tabulator" && user[String(repeating: "n", count: 255)] == "long")
        #expect(user["field"] == "empty" && user["custom.vault.key"] == "x" && user["vault.key"] == nil)
        #expect(user[String(repeating: "m", count: 240)] == "longer")
        #expect(try odd.openedSecret(field: "value")?.count == 10_000)
        let network = try vault.copyMatching(Query(.internetPassword))
        #expect(network.count == 1 && network.first?[.path] == "/p" && network.first?[.port] == 0)
        #expect(network.first?.userAttributes["port"] == "99999")
        #expect(try vault.copyMatching(Query(.genericPassword, account: "nobody")).count == 1)
    }

    @Test func `a secret that cannot be one is skipped, and those beside it come`() throws {
        let imported = try SecretServiceWorld("provider", "secrets").logins()
        let length = "the initialization vector of its secret has another length"
        let padding = "its secret does not decrypt"
        #expect(
            reasons(imported) == [
                "collection 1, item 1": length, "collection 1, item 9": length,
                "collection 1, item 2": padding, "collection 1, item 3": padding, "collection 1, item 8": padding,
                "collection 1, item 4": "its secret is of another session",
                "collection 1, item 5": "its secret has more than 16 MiB",
                "collection 1, item 6": "its content type has more than 255 bytes",
            ])
        #expect(names(imported) == ["Item i6", "Item i9"])
        let item = try imported.logins.first?.items(of: "secret-service").first
        #expect(item?.userAttributes["vault.content-type"] == "text/html; charset=utf-8")
        #expect(imported.logins.last?.password?.count == 16 << 20)
    }

    @Test func `secrets that do not come together come one by one`() throws {
        let imported = try SecretServiceWorld("provider", "one-by-one").logins()
        #expect(imported.logins.map { $0.password?.exposed } == (0..<10).map { Array("i\($0)".utf8) })
        let locked = try SecretServiceWorld("provider", "locked").logins()
        #expect(locked.logins.count == 8)
        #expect(
            reasons(locked) == ["collection 1, item 4": "it is locked", "collection 1, item 5": "it is locked"])
    }

    // MARK: Prompts

    @Test(arguments: [
        ("prompt-dismissed", "it is locked, and the prompt to unlock it was dismissed, or there is no way to ask"),
        ("prompt-refused", "it is locked, and its provider does not unlock it"),
        ("prompt-none", "it is locked, and stayed so"),
        ("prompt-path", "it is locked, and its provider does not unlock it"),
        ("prompt-type", "it is locked, and its provider does not unlock it"),
    ])
    func `what stays locked is skipped, and the rest comes`(scenario: String, reason: String) throws {
        let imported = try SecretServiceWorld("provider", scenario).logins()
        #expect(imported.logins.count == 10)
        #expect(reasons(imported) == ["collection 1": reason, "collection 3": reason])
    }

    @Test(arguments: ["prompt-silent", "prompt-forged"])
    func `a prompt that is not answered by its provider ends in time, and is the last`(scenario: String) throws {
        let world = try SecretServiceWorld("provider", scenario)
        let imported = try world.logins(promptPatience: .milliseconds(300))
        #expect(imported.logins.count == 10)
        #expect(
            reasons(imported) == [
                "collection 1": "it is locked, and the prompt to unlock it was not answered",
                "collection 3": "it is locked, and an earlier prompt was not answered",
            ])
        #expect(try world.ask("asked").split(separator: " ").count { $0 == "Dismiss" } == 1)
    }

    @Test func `a prompt that is answered unlocks, and one whose provider goes away is an error`() throws {
        let imported = try SecretServiceWorld("provider", "prompt-completed").logins()
        #expect(imported.logins.count == 20)
        #expect(imported.logins.count { $0.collection == "Other" } == 10)
        #expect(reasons(imported) == ["collection 3": "it is locked, and stayed so"])
        #expect(
            failure { _ = try SecretServiceWorld("provider", "prompt-gone").logins() }
                .hasPrefix("service(\"the bus, or what provides org.freedesktop.secrets on it, went away\""))
    }
}

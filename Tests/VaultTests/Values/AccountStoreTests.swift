// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault

/// Fields of accounts, saved when set: no change is lost, and no error is swallowed.
struct AccountStoreTests {
    struct Profile: StoredFields {
        @Stored("email") var email: String?
        @Stored("visits") var visits = 0
        @Stored("tags") var tags: [String] = []
        @Stored("born") var born: Date?
    }

    final class ProfileObject: StoredFields {
        @Stored("email") var email: String?
    }

    @Test func `a field that is set is in the vault, for a struct and for a class`() throws {
        let test = try TestVault()
        let ada = AccountStore(test.vault, account: "ada", of: Profile.self)
        #expect(ada.email == nil && ada.visits == 0 && ada.tags == [])
        ada.email = "ada@example.com"
        ada.visits += 1
        ada.visits += 1
        ada.tags.append("漢字")
        test.vault.close()
        let again = AccountStore(try test.reopened(), account: "ada", of: Profile.self)
        #expect(again.email == "ada@example.com" && again.visits == 2 && again.tags == ["漢字"])
        let object = AccountStore(try test.reopened(), account: "ada", of: ProfileObject.self, service: "Profile")
        #expect(object.email == "ada@example.com")
        object.email = nil
        #expect(again.email == nil && again.visits == 2)
    }

    @Test func `a save of several fields is one, and throws what kept it from being durable`() throws {
        let test = try TestVault()
        let ada = AccountStore(test.vault, account: "ada", of: Profile.self)
        let before = try test.vault.sequence
        try ada.save { profile in
            profile.email = "a"
            profile.visits = 5
            // The body reads its own write.
            profile.visits += 1
        }
        #expect(try test.vault.sequence == before + 1 && ada.visits == 6)
        struct Abort: Error {}
        #expect(throws: Abort.self) {
            try ada.save { profile in
                profile.email = "b"
                throw Abort()
            }
        }
        #expect(throws: VaultError.valueMismatch(path: "born")) {
            try ada.save { profile in
                profile.email = "c"
                profile.born = Date(timeIntervalSinceReferenceDate: .infinity)
            }
        }
        #expect(try ada.read { ($0.email, $0.visits) } == ("a", 6))
        try test.vault.lock()
        #expect(throws: VaultError.locked) { try ada.save { $0.email = "d" } }
        #expect(throws: VaultError.locked) { try ada.read { $0.email } }
    }

    @Test func `what fails in a plain assignment or a plain read is told, and not swallowed`() async throws {
        let test = try TestVault()
        let ada = AccountStore(test.vault, account: "ada", of: Profile.self)
        ada.email = "a"
        var errors = ada.errors.makeAsyncIterator()
        try await test.vault.lock()
        ada.email = "b"
        #expect(await errors.next()?.error == .locked)
        #expect(ada.email == nil)
        #expect(await errors.next()?.error == .locked)
        try await test.vault.unlock(with: .passphrase(test.passphrase))
        #expect(ada.email == "a")
        struct Newer: StoredFields { @Stored("email") var email: [Int] = [] }
        let newer = AccountStore(test.vault, account: "ada", of: Newer.self, service: "Profile")
        #expect(throws: VaultError.valueMismatch(path: "email")) { try newer.read { $0.email } }
    }

    @Test func `accounts are switched, listed and removed, and keep to themselves`() throws {
        let vault = try Vault.inMemory()
        let account = AccountStore(vault, account: "ada", of: Profile.self)
        account.email = "ada@example.com"
        account.account = "bob"
        #expect(account.email == nil)
        account.email = "bob@example.com"
        #expect(try account.accounts() == ["ada", "bob"])
        account.account = "ada"
        #expect(account.email == "ada@example.com")
        #expect(try account.remove() && !account.remove() && account.accounts() == ["bob"])
        // Removing an absent field creates no account.
        account.email = nil
        #expect(try account.accounts() == ["bob"])
    }

    @Test func `two processes that change different fields take nothing from each other`() throws {
        let test = try TestVault(groups: .standard, waits: true)
        let stores = [test.vault, try test.reopened(groups: .standard)].map {
            AccountStore($0, account: "ada", of: Profile.self)
        }
        let threads = [
            Worker<Void> { for number in 1...40 { stores[0].visits = number } },
            Worker<Void> { for number in 1...40 { stores[1].email = "\(number)" } },
        ]
        for thread in threads { try thread.value() }
        for store in stores { #expect(try store.read { ($0.visits, $0.email) } == (40, "40")) }
    }

    @Test func `counters of several threads and handles count every step, the first one too`() throws {
        let test = try TestVault(groups: .standard, waits: true)
        let stores = [test.vault, try test.reopened(groups: .standard)].map {
            AccountStore($0, account: "ada", of: Profile.self)
        }
        let threads = (0..<4).map { thread in
            Worker<Void> {
                for _ in 0..<25 { try stores[thread % 2].save { $0.visits += 1 } }
            }
        }
        for thread in threads { try thread.value() }
        #expect(try stores[1].read { $0.visits } == 100)
    }

    @Test func `a save reads again what was changed, removed or made while it ran`() throws {
        let vault = try Vault.inMemory()
        let (mine, other) = (
            AccountStore(vault, account: "ada", of: Profile.self), AccountStore(vault, account: "ada", of: Profile.self)
        )
        var runs = 0
        func meanwhile(_ change: () throws(VaultError) -> Void) throws(VaultError) {
            runs = 0
            try mine.save { (profile) throws(VaultError) in
                profile.visits += 1
                runs += 1
                if runs == 1 { try change() }
            }
        }
        try meanwhile { () throws(VaultError) in try other.save { $0.visits = 10 } }
        #expect(mine.visits == 11 && runs == 2)
        try meanwhile { () throws(VaultError) in try other.remove() }
        #expect(mine.visits == 1 && runs == 2)
        // A body that reads nothing cannot be outdated.
        runs = 0
        struct Own: Error {}
        try mine.save { profile in
            profile.email = "mine"
            runs += 1
            try other.save { $0.tags = ["other"] }
            if runs > 1 { throw Own() }
        }
        #expect(mine.email == "mine" && mine.tags == ["other"] && runs == 1)
    }

    @Test func `the type says which items are its own, whatever it is called`() throws {
        struct Renamed: StoredFields {
            static let service = "com.example.profile"
            @Stored("email") var email: String?
        }
        let vault = try Vault.inMemory()
        AccountStore(vault, account: "ada", of: Renamed.self).email = "a"
        AccountStore(vault, account: "ada", of: Profile.self).email = "b"
        #expect(try vault.contains(.genericPassword(service: "com.example.profile", account: "ada")))
        #expect(try vault.contains(.genericPassword(service: "Profile", account: "ada")))
        #expect(AccountStore(vault, account: "ada", of: Renamed.self).email == "a")
    }

    @Test func `an instance that no store made has ordinary properties`() {
        var profile = Profile()
        profile.email = "x"
        profile.visits += 1
        #expect(profile.email == "x" && profile.visits == 1)
    }
}

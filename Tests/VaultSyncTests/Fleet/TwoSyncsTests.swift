// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage

@testable import VaultSync

/// Two processes that sync one vault.
struct TwoSyncsTests {
    @Test(arguments: [false, true])
    func `a remote that is removed during a sync with it stays removed, or as it was added`(
        isAddedAgain: Bool
    ) throws {
        let a = try Home.fleet(["a", "b"])[0]
        try a.add("ada", "one")
        let other = try Vault.open(
            at: FilePath("/a/v.vault"), unlockingWith: .of("correct horse"), environment: a.environment)
        let fleet = try Fleet(other, environment: a.environment)
        let added = RemoteCredentials(authorities: "/new.pem")
        let outcomes = try a.fleet.sync { _ in
            do throws(SyncError) {
                try fleet.removeRemote(Home.url)
                if isAddedAgain { try fleet.addRemote(Home.url, credentials: added) }
            } catch { Issue.record(error) }
        }
        #expect(outcomes.count == 1)
        let remotes = try fleet.membership().remotes
        #expect(remotes.map(\.url) == (isAddedAgain ? [Home.url] : []))
        #expect(remotes.allSatisfy { $0.access.credentials.authorities == "/new.pem" })
    }

    @Test func `while one syncs the other is told so, and nothing is lost`() throws {
        let homes = try Home.fleet(["a", "b"])
        let a = homes[0]
        try a.add("ada", "one")
        let other = try Vault.open(
            at: FilePath("/a/v.vault"), unlockingWith: .of("correct horse"), environment: a.environment)
        let fleet = try Fleet(other, environment: a.environment)
        var refusals = 0
        let outcomes = try a.fleet.sync { _ in
            do throws(SyncError) { _ = try fleet.sync() } catch {
                #expect(error == .busy)
                refusals += 1
            }
            #expect(throws: SyncError.busy) { try fleet.remove(deviceNamed: "b") }
            #expect(throws: SyncError.busy) { try fleet.resolveRoster() }
        }
        #expect(refusals == 1 && outcomes.allSatisfy { $0.error == nil && $0.alarms.isEmpty })
        // The verbs do not wait.
        _ = try a.fleet.sync { _ in
            do {
                try other.add(
                    Item(.genericPassword(service: "svc", account: "meanwhile"), secret: Secret(text: "two")))
            } catch { Issue.record(error) }
        }
        a.clock.advance(by: 1)
        #expect(try fleet.sync().allSatisfy { $0.error == nil && !$0.report.newLog })
        try a.sync()
        try homes[1].sync()
        for home in homes { #expect(try home.secrets() == ["ada": "one", "meanwhile": "two"]) }
        #expect(try a.fleet.fingerprint() == homes[1].fleet.fingerprint())
    }
}

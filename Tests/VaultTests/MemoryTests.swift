// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultStorage

struct MemoryTests {
    @Test func `a secret, a passphrase and a key that were let go are nowhere in memory and in no file`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let (secretMarker, phraseMarker, otherMarker, heldMarker) = (
                SecretMarker(), SecretMarker(), SecretMarker(), SecretMarker()
            )
            let held = Secret(try heldMarker.secret())
            // The controls: the search finds a secret that is held, and one that is written.
            guard try heldMarker.occurrencesInMemory() == 1 else { exit(10) }
            try heldMarker.write(to: directory.path.appending("control").string)
            var environment = VaultEnvironment.system
            environment.stateDirectory = directory.path.appending("state")
            let path = directory.path.appending("v")
            do {
                let secret = Secret(try secretMarker.secret())
                let passphrase = try Passphrase(phraseMarker.secret())
                let vault = try Vault.create(at: path, passphrase: passphrase, cost: .weakest, environment: environment)
                try vault.add(Item(.genericPassword(service: "s", account: "a"), secret: secret))
                try vault.update(matching: Query(.genericPassword), with: ItemChanges(attributes: [.accessible: "ck"]))
                try vault.update(matching: Query(.genericPassword), with: ItemChanges(attributes: [.accessible: "aku"]))
                var query = Query(.genericPassword)
                query.returnsSecrets = true
                guard try vault.copyMatching(query).first?.secret?.count == 24 else { exit(11) }
                try vault.changePassphrase(from: passphrase, to: Passphrase(otherMarker.secret()), cost: .weakest)
                try vault.compact()
                _ = try vault.verify(deep: true)
                try vault.lock()
            }
            guard try heldMarker.occurrencesInMemory() == 1, held.count == 24 else { exit(15) }
            guard try heldMarker.occurrences(inFilesBelow: directory.path.string) == 1 else { exit(16) }
            guard try secretMarker.occurrencesInMemory() == 0 else { exit(12) }
            guard try phraseMarker.occurrencesInMemory() == 0, try otherMarker.occurrencesInMemory() == 0 else {
                exit(13)
            }
            for marker in [secretMarker, phraseMarker, otherMarker] {
                guard try marker.occurrences(inFilesBelow: directory.path.string) == 0 else { exit(14) }
            }
        }
    }

    @Test func `a vault key and a class key are gone from memory when the vault is locked`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            var environment = VaultEnvironment.system
            environment.stateDirectory = directory.path.appending("state")
            let path = directory.path.appending("v")
            let store = try VaultStore.create(
                at: path, unlockedBy: .passphrase(.of("p")), cost: .weakest, environment: environment)
            let marker: SecretMarker
            switch store.keys.vaultKey {
            case .some(let key): marker = SecretMarker(of: key)
            case .none: exit(10)
            }
            guard try marker.occurrencesInMemory() >= 1 else { exit(11) }
            store.lockKeys()
            guard try marker.occurrencesInMemory() == 0 else { exit(12) }
            guard try marker.occurrences(inFilesBelow: directory.path.string) == 0 else { exit(13) }
        }
    }
}

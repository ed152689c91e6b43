// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Vault
import VaultCrypto
import VaultStorage

/// A vault in a directory of its own, with the weakest derivation and a clock that the test controls.
struct TestVault {
    let directory: TemporaryDirectory
    let clock = ManualClock()
    let passphrase: Passphrase
    let vault: Vault

    var path: FilePath { directory.path.appending("test.vault") }

    let environment: VaultEnvironment

    /// - Parameter waits: Whether writers wait for each other in real time, which concurrent writers need.
    init(groups: AccessGroups = AccessGroups(["A", "B"]), waits: Bool = false) throws {
        directory = try TemporaryDirectory()
        passphrase = try Passphrase.of("pass")
        environment = TestVault.environment(directory, waits ? SystemClock() : clock)
        vault = try Vault.create(
            at: directory.path.appending("test.vault"), passphrase: passphrase, cost: .weakest,
            environment: environment,
            accessGroups: groups)
    }

    static func environment(_ directory: TemporaryDirectory, _ clock: any VaultClock) -> VaultEnvironment {
        VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: clock, random: SystemRandom(),
            stateDirectory: directory.path.appending("state"))
    }

    func reopened(groups: AccessGroups = AccessGroups(["A", "B"])) throws -> Vault {
        try Vault.open(at: path, unlockingWith: passphrase, environment: environment, accessGroups: groups)
    }

    /// Opens the file as another machine with a copy of it.
    func opened(onAnotherDevice state: FilePath) throws -> Vault {
        var environment = environment
        environment.stateDirectory = state
        return try Vault.open(
            at: path, unlockingWith: passphrase, environment: environment, accessGroups: AccessGroups(["A", "B"]))
    }
}

extension Item {
    static func generic(
        _ service: String, _ account: String, _ secret: String = "x", _ attributes: [Attribute: AttributeValue] = [:]
    ) throws -> Item {
        Item(
            .genericPassword(service: service, account: account), attributes: attributes,
            secret: try Secret(text: secret))
    }

    /// The secret as text, read from the vault.
    var text: String? { get throws { try withSecret { String(decoding: $0.array, as: UTF8.self) } } }
}

extension Span<UInt8> {
    var array: [UInt8] {
        var copy: [UInt8] = []
        for index in indices { copy.append(self[index]) }
        return copy
    }
}

extension ItemStore {
    func count(_ query: Query) -> Int { (try? copyMatching(query).count) ?? 0 }
}

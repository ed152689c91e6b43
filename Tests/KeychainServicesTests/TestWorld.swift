// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import SecItemCases
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Tests that bind a vault to the process, which only one test can do at a time.
@Suite(.serialized) struct SecItemTests {}

/// A vault of the test, bound in code.
final class TestWorld: CaseWorld {
    private let directory: TemporaryDirectory
    private var vault: Vault
    private var secret: UnlockingSecret
    private var groups: AccessGroups = []

    private var path: FilePath { directory.path.appending("v") }

    private var environment: VaultEnvironment {
        VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SystemRandom(),
            stateDirectory: directory.path.appending("state"))
    }

    init() throws {
        directory = try TemporaryDirectory()
        let passphrase = try Passphrase.of("pass")
        secret = .passphrase(passphrase)
        let environment = VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SystemRandom(),
            stateDirectory: directory.path.appending("state"))
        vault = try Vault.create(
            at: directory.path.appending("v"), passphrase: passphrase, cost: .weakest, environment: environment)
    }

    private func bind() { Vault.setDefault(vault, accessGroups: groups) }

    func become(_ groups: [String]) {
        self.groups = AccessGroups(groups)
        bind()
    }

    func lock() throws { try vault.lock() }

    func unlock() throws { try vault.unlock(with: secret) }

    func losePassphrase() throws {
        let keyFile = try KeyFile(SecretBytes(copying: [UInt8](repeating: 3, count: 32).span))
        vault.close()
        let locked = try LockedStore(path, environment: environment)
        let store = try locked.open(with: try locked.unlock(with: secret))
        guard let vaultKey = try locked.header.slots[0].open(secret.secret().bytes, vaultID: locked.header.vaultID)
        else {
            throw StorageError.wrongPassphrase
        }
        // The library refuses a vault with a key file alone, so the slot is written past its checks.
        let slot = try KeySlot.sealing(
            vaultKey, for: .keyFile(keyFile), cost: .weakest, vaultID: locked.header.vaultID, name: "",
            random: environment.random)
        try store.withWriterLock { () throws(StorageError) in try store.rewrite(slots: [HeldSlot(slot)]) }
        secret = .keyFile(keyFile)
        vault = try LockedVault(at: path, environment: environment).unlock(with: secret)
        bind()
    }

    /// Damages the file; the next call opens the vault in that state, or fails.
    func damage(_ what: Spoiling) throws {
        // Closing settles the marks; damage behind the marks would count as a torn tail.
        vault.close()
        vault = try LockedVault(at: path, environment: environment).unlock(with: secret)
        bind()
        var bytes = try directory.read("v")
        switch what {
        case .file: bytes = [UInt8](repeating: 0x5a, count: 9000)
        case .header: bytes[40] ^= 1
        case .marks: for offset in Layout.markOffsets { bytes[offset + 20] ^= 1 }
        case .record: bytes[Layout.firstFrame + 100] ^= 1
        case .values, .swappedValues:
            let locked = try LockedStore(path, environment: environment)
            let store = try locked.open(with: try locked.unlock(with: secret))
            let ranges = (0..<store.records.end).compactMap { store.records[$0]?.value }.map {
                Int($0.offset)..<Int($0.offset) + Int($0.length)
            }
            let boxes = ranges.map { Array(bytes[$0]) }
            for (range, box) in zip(
                ranges, what == .values ? boxes.map { [$0[0] ^ 1] + $0.dropFirst() } : boxes.reversed())
            {
                bytes.replaceSubrange(range, with: box)
            }
        }
        try directory.write(bytes, to: "v")
        try LinuxFileSystem.restrict(path)
    }
}

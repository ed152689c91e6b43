// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Key slots of a vault, without opening a value.
struct SlotTests {
    private let home = Home("slots")

    private func keyFile(_ text: String = "k") throws -> KeyFile {
        try KeyFile(SecretBytes(copying: [UInt8](repeating: text.utf8.first ?? 0, count: 64).span))
    }

    private func recoveryCode(_ seed: String = "code") throws -> RecoveryCode { try RecoveryCode(SeededRandom(seed)) }

    private func external(_ byte: UInt8 = 7) throws -> UnlockingSecret {
        .external(try Secret(bytes: [UInt8](repeating: byte, count: 32)))
    }

    private func credential(_ byte: UInt8) throws -> SecurityKeyCredential {
        try SecurityKeyCredential(
            identifier: [UInt8](repeating: byte, count: 64), salt: [UInt8](repeating: byte, count: 32),
            isVerified: byte % 2 == 0)
    }

    @Test func `each kind of secret opens the vault, and another of its kind does not`() throws {
        let store = try home.create()
        try store.put("one")
        let right: [UnlockingSecret] = try [
            .recoveryCode(recoveryCode()), .passphraseAndKeyFile(.of("both"), keyFile()), .keyFile(keyFile()),
            external(),
            .passphrase(.of("second")),
        ]
        for secret in right {
            try store.addSlot(
                for: secret, cost: .weakest, provider: secret.kind == .external ? .tpm2 : nil,
                blob: secret.kind == .external ? [1, 2] : [])
        }
        for (number, secret) in right.enumerated() {
            #expect(try Home.values(of: home.open(with: secret, number: number + 2)) == ["one"])
        }
        let wrong: [UnlockingSecret] = try [
            .recoveryCode(recoveryCode("other")), .passphraseAndKeyFile(.of("both"), keyFile("l")),
            .passphraseAndKeyFile(.of("neither"), keyFile()), .keyFile(keyFile("l")), external(8),
            .passphrase(.of("both")),
        ]
        for secret in wrong { #expect(throws: StorageError.wrongPassphrase) { try home.open(with: secret) } }
        #expect(
            store.header.slots.map(\.name) == [
                "passphrase", "recovery code", "passphrase and key file", "key file", "TPM2", "passphrase 2",
            ])
    }

    @Test func `the last slot for a person stays, and a slot that is not there is not removed`() throws {
        let store = try home.create()
        let first = store.header.slots[0].slotID
        let machine = try store.addSlot(for: .keyFile(keyFile())).slotID
        #expect(throws: StorageError.slot(.lastForPeople)) { try store.removeSlot(first) }
        #expect(throws: StorageError.slot(.noSuchSlot)) { try store.removeSlot([UInt8](repeating: 1, count: 16)) }
        try store.addSlot(for: .recoveryCode(recoveryCode()))
        try store.removeSlot(first)
        #expect(throws: StorageError.noMatchingSlot) { try home.open() }
        try store.removeSlot(machine)
        #expect(store.header.slots.map(\.kind) == [.recoveryCode])
        #expect(throws: StorageError.slot(.lastForPeople)) { try store.removeSlot(store.header.slots[0].slotID) }
    }

    @Test func `a slot of a machine may go even where no person has one`() throws {
        let store = try VaultStore.create(
            at: home.path(), unlockedBy: .keyFile(keyFile()), cost: .weakest, environment: home.environment())
        let second = try store.addSlot(for: .keyFile(keyFile("l")))
        try store.removeSlot(store.header.slots[0].slotID)
        #expect(throws: StorageError.slot(.lastForPeople)) { try store.removeSlot(second.slotID) }
        _ = try home.open(with: .keyFile(keyFile("l")))
    }

    @Test func `eight slots are the most, and names are different`() throws {
        let store = try home.create()
        #expect(throws: StorageError.slot(.name)) {
            try store.addSlot(for: .recoveryCode(recoveryCode()), name: "passphrase")
        }
        #expect(throws: StorageError.slot(.name)) { try store.addSlot(for: .recoveryCode(recoveryCode()), name: "") }
        let long = String(repeating: "n", count: 33)
        #expect(throws: StorageError.slot(.name)) { try store.addSlot(for: .recoveryCode(recoveryCode()), name: long) }
        for number in 0..<7 { try store.addSlot(for: .recoveryCode(recoveryCode("\(number)"))) }
        #expect(throws: StorageError.slot(.full)) { try store.addSlot(for: .recoveryCode(recoveryCode())) }
        #expect(Set(store.header.slots.map(\.name)).count == 8)
        _ = try home.open(with: .recoveryCode(recoveryCode("6")))
    }

    @Test func `what machines keep lies together in the annex, and moves when a slot goes`() throws {
        let store = try home.create()
        var slots: [KeySlot] = []
        for byte in 1...3 as ClosedRange<UInt8> {
            slots.append(
                try store.addSlot(for: external(byte), provider: .tpm2, blob: [UInt8](repeating: byte, count: 500)))
        }
        #expect(throws: StorageError.slot(.annexFull)) {
            try store.addSlot(for: external(4), provider: .systemdCredential, blob: [UInt8](repeating: 4, count: 500))
        }
        let room = Header.annexLength - 1500
        #expect(throws: StorageError.slot(.annexFull)) { try store.checkRoom(for: nil, blobBytes: room + 1) }
        try store.checkRoom(for: nil, blobBytes: room)
        try store.removeSlot(slots[0].slotID)
        let header = try home.locked().header
        #expect(header.slots.compactMap(\.provider) == [.tpm2, .tpm2])
        #expect(
            header.heldSlots.map(\.blob) == [[], [UInt8](repeating: 2, count: 500), [UInt8](repeating: 3, count: 500)])
        #expect(header.annex[1000...].allSatisfy { $0 == 0 })
        try store.compact()
        #expect(try home.locked().header.heldSlots == store.header.heldSlots)
        _ = try home.open(with: external(3))
    }

    @Test func `a new secret takes the place of an old one, also of one that is forgotten`() throws {
        let store = try home.create()
        try store.put("one")
        try store.addSlot(for: .recoveryCode(recoveryCode()))
        let opened = try home.open(with: .recoveryCode(recoveryCode()), number: 3)
        try opened.replaceSlot(opened.header.slots[0].slotID, with: .passphrase(.of("new")))
        #expect(throws: StorageError.wrongPassphrase) { try home.open() }
        #expect(try Home.values(of: home.open(with: .passphrase(.of("new")), number: 4)) == ["one"])
        #expect(throws: StorageError.slot(.noSuchSlot)) {
            try opened.replaceSlot(opened.header.slots[1].slotID, with: .passphrase(.of("new")))
        }
    }

    /// systemd-creds also opens credentials sealed with a public key: a stranger's vault could pass for this machine's
    /// own.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-creds")))
    func `what was sealed with no secret of this machine opens nothing`() throws {
        let store = try home.create()
        let directory = try TemporaryDirectory()
        let secret = [UInt8](repeating: 7, count: 32)
        try directory.write(secret, to: "secret")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/systemd-creds")
        process.arguments = [
            "encrypt", "--with-key=tpm2-absent", "--name=vault.\(hexadecimal(store.header.vaultID))",
            directory.path.appending("secret").string,
            directory.path.appending("sealed").string,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let blob = try directory.read("sealed").filter { $0 > 0x20 }
        for provider in [KeySlot.Provider.systemdCredential, .tpm2] {
            let slot = try store.addSlot(for: .external(Secret(bytes: secret)), provider: provider, blob: blob)
            #expect(throws: StorageError.machineSecret(.failed)) {
                try home.locked().machineSecret(with: SystemCredential())
            }
            try store.removeSlot(slot.slotID)
        }
    }

    @Test func `the slot of a security key is not tried by a machine, and does not hide one that is`() throws {
        let store = try home.create()
        let credential = try credential(1)
        try store.addSlot(for: external(1), provider: .fido2, blob: credential.encoded)
        #expect(try home.locked().machineSecret(with: SystemCredential()) == nil)
        try store.addSlot(for: external(2), provider: .tpm2, blob: [1, 2])
        #expect(throws: StorageError.machineSecret(.failed)) {
            try home.locked().machineSecret(with: SystemCredential())
        }
        #expect(try home.locked().securityKeyCredentials() == [credential])
        #expect(throws: StorageError.machineSecret(.unknownProvider)) {
            try store.addMachineSlot(.fido2, with: SystemCredential())
        }
    }

    @Test func `two security keys are two slots, and their credentials stay through every rewrite of the file`() throws
    {
        let store = try home.create()
        try store.put("one")
        let credentials = try [credential(1), credential(2)]
        for (credential, byte) in zip(credentials, [1, 2] as [UInt8]) {
            try store.addSlot(for: external(byte), provider: .fido2, blob: credential.encoded)
        }
        #expect(store.header.slots.map(\.name) == ["passphrase", "FIDO2", "FIDO2 2"])
        try store.compact()
        try store.replaceSlot(store.header.slots[0].slotID, with: .passphrase(.of("new")))
        #expect(try store.backUp(to: home.path("b"), entries: nil, replacing: false) == 1)
        for path in [home.path(), home.path("b")] {
            let locked = try LockedStore(path, environment: home.environment(3))
            #expect(try locked.securityKeyCredentials() == credentials)
            _ = try locked.unlock(with: external(2))
        }
        try store.removeSlot(store.header.slots[1].slotID)
        #expect(try home.locked().securityKeyCredentials() == [credentials[1]])
        #expect(throws: StorageError.wrongPassphrase) { try home.open(with: external(1)) }
        #expect(try Home.values(of: home.open(with: external(2), number: 4)) == ["one"])
    }

    @Test func `a blob that no version writes hides no other security key, and no other slot`() throws {
        let store = try home.create()
        try store.addSlot(for: external(1), provider: .fido2, blob: [1, 0, 16, 0])
        #expect(throws: StorageError.damaged(.header(.truncated(.annex)))) {
            try home.locked().securityKeyCredentials()
        }
        try store.addSlot(for: external(2), provider: .fido2, blob: [2] + credential(2).encoded.dropFirst())
        #expect(throws: StorageError.unsupported(.annex)) { try home.locked().securityKeyCredentials() }
        try store.addSlot(for: external(3), provider: .fido2, blob: credential(3).encoded)
        #expect(try home.locked().securityKeyCredentials() == [credential(3)])
        _ = try home.open()
    }

    @Test(arguments: ["cmd:touch ran", "/dev/../tmp/x", "swtpm", "", "libtcti:x"])
    func `what is no chip is not asked`(device: String) throws {
        let store = try home.create()
        #expect(throws: StorageError.machineSecret(.noDevice)) {
            try store.addMachineSlot(.tpm2, with: SystemCredential(device: device))
        }
    }

    @Test func `removing the last passphrase slot deletes the items that need one`() throws {
        let store = try home.create()
        try store.put("stays", protection: .whenUnlockedThisDeviceOnly)
        try store.put("goes", protection: .whenPasscodeSetThisDeviceOnly)
        try store.addSlot(for: .passphraseAndKeyFile(.of("both"), keyFile()), cost: .weakest)
        try store.addSlot(for: .recoveryCode(recoveryCode()))
        try store.removeSlot(store.header.slots[0].slotID)
        try store.refresh()
        #expect(try Home.values(of: store) == ["goes", "stays"])
        try store.removeSlot(store.header.slots[0].slotID)
        try store.refresh()
        #expect(try Home.values(of: store) == ["stays"] && store.records.count == 1)
        // A passphrase added later does not bring the items back.
        try store.addSlot(for: Home.secret(), cost: .weakest)
        #expect(try Home.values(of: home.open(number: 4)) == ["stays"])
        #expect(try home.open(number: 5).verify(deep: true).foreign == 0)
    }

    @Test func `a cheap slot becomes as dear as a new one when it is used, and only where that is wanted`() throws {
        let store = try home.create()
        try store.put("one")
        let secret = try Home.secret()
        var environment = home.environment(3)
        for isWanted in [false, true] {
            environment.strengthensSlots = isWanted
            let locked = try LockedStore(home.path(), environment: environment)
            let opened = try locked.open(with: try locked.unlock(with: secret))
            try opened.strengthenSlot(for: secret)
            #expect(try home.locked().header.slots[0].cost == (isWanted ? .moderate : nil))
        }
        #expect(try Home.values(of: home.open(number: 6)) == ["one"])
    }

    @Test func `a locked vault gets no slots`() throws {
        let store = try home.create()
        store.lockKeys()
        #expect(throws: StorageError.locked) { try store.addSlot(for: .recoveryCode(recoveryCode())) }
        #expect(throws: StorageError.locked) { try store.rekey([SlotEntry(Home.secret(), name: "p")]) { _ in } }
        #expect(throws: StorageError.locked) {
            try store.backUp(
                to: home.path("b"), entries: [SlotEntry(Home.secret(), name: "p", cost: .weakest)], replacing: false)
        }
    }

    /// The secret of each slot type as the format defines it, computed from its parts.
    @Test func `the secret of a passphrase with a key file is both, with the passphrase's length first`() throws {
        let file = try keyFile()
        let joined = try UnlockingSecret.passphraseAndKeyFile(.of("ab"), file).secret().exposed
        #expect(joined == [2, 0, 0, 0] + Array("ab".utf8) + file.secret.exposed)
    }

    @Test func `what all slots would cost is added up before the first of them is tried`() throws {
        let home = Home("hostile header")
        _ = try home.create()
        let locked = try home.locked()
        var header = locked.header
        var slot = header.slots[0]
        slot.stretching = .argon2id(passes: 4, memoryBytes: 4 << 30)
        header.slots = (0..<8).map { number in
            slot.slotID[0] = UInt8(number)
            return slot
        }
        let page = header.encoded() + [UInt8](repeating: 0, count: 32)
        home.disk.put(
            page + KeyedHash.digest(page.span).bytes.span.array(0..<32) + [UInt8](repeating: 0, count: 8192), as: "v")
        var environment = home.environment(3)
        environment.forcesMemory = true
        let hostile = try LockedStore(home.path(), environment: environment)
        #expect(throws: StorageError.damaged(.header(.outOfBounds(.slotPasses)))) {
            _ = try hostile.unlock(with: Home.secret())
        }
    }
}

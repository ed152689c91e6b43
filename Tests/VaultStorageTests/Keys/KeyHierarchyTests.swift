// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Every key below a passphrase, compared with values computed by Python's hashlib, argon2-cffi and PyNaCl.
struct KeyHierarchyTests {
    private let known: [String: String]

    init() throws { known = try Vectors.table("key-hierarchy.txt") }

    private func bytes(_ name: String) throws -> [UInt8] { [UInt8](hexadecimal: try #require(known[name])) }

    private func secret(_ name: String) throws -> Secret { try Secret(bytes: bytes(name)) }

    private func slot() throws -> KeySlot {
        var slot = KeySlot(
            kind: .passphrase, stretching: .argon2id(passes: 1, memoryBytes: 8 << 20), slotID: try bytes("slotID"),
            salt: try bytes("salt"),
            name: "")
        slot.commitment = try bytes("commitment")
        slot.nonce = try bytes("nonce")
        slot.box = try bytes("slotBox")
        return slot
    }

    @Test func `the passphrase gives the master key and its commitment`() throws {
        let passphrase = try secret("passphrase")
        let salt = try bytes("salt")
        let stretched = try Secret(
            KeyDerivation.argon2id(passphrase.bytes, salt: salt.span, passes: 1, memoryBytes: 8 << 20))
        #expect(try stretched.exposed == bytes("stretched"))
        let keys = try SlotKeys(slot(), secret: passphrase.bytes, vaultID: bytes("vaultID"))
        let (master, commitment) = (keys.masterKey.exposed, keys.commitment)
        #expect(try master == bytes("masterKey"))
        #expect(try commitment == bytes("commitment"))
    }

    @Test func `a slot of high entropy is stretched with BLAKE2b alone`() throws {
        var slot = try slot()
        slot.stretching = .blake2b
        var hash = KeyedHash(publicKey: slot.salt.span)
        hash.update(try bytes("passphrase"))
        let digest = hash.digest()
        #expect(try (0..<32).map { digest.bytes[$0] } == bytes("blakeStretched"))
    }

    private func vaultKeys() throws -> VaultKeys {
        let bytes = try bytes("vaultKey")
        return try VaultKeys(vaultKey: SecretBytes(copying: bytes.span), vaultID: self.bytes("vaultID"))
    }

    private func itemID() throws -> ItemID {
        let bytes = try bytes("itemID")
        return ItemID(bytes.span)
    }

    private func open(_ slot: KeySlot, _ name: String) throws -> [UInt8]? {
        guard let key = try slot.open(secret(name).bytes, vaultID: bytes("vaultID")) else { return nil }
        return key.exposed
    }

    @Test func `the slot's box gives the vault key`() throws {
        let (right, wrong) = (try open(slot(), "passphrase"), try open(slot(), "keyFile"))
        #expect(try right == bytes("vaultKey"))
        #expect(wrong == nil)
    }

    @Test func `the vault key gives every key below it`() throws {
        let keys = try vaultKeys()
        let (root, identification) = (keys.generationRoot.exposed, keys.deviceIdentification.exposed)
        #expect(try root == bytes("generationRoot"))
        #expect(try identification == bytes("deviceIdentificationKey"))
        let header = Header(
            vaultID: try bytes("vaultID"), generation: 7, fileSalt: try bytes("fileSalt"), baseSequence: 0, slots: [])
        let generation = try GenerationKeys(root: keys.generationRoot, header: header)
        let derived = [
            generation.header.exposed, generation.mark.exposed, generation.chain.exposed, generation.metadata.exposed,
            generation.digest.exposed,
        ]
        #expect(try derived == ["headerKey", "markKey", "chainKey", "metadataKey", "digestKey"].map(bytes))
        let id = try itemID()
        let files = SimulatedDisk()
        files.put(try bytes("deviceSecret"), as: try bytes("vaultID").hexadecimal + ".device")
        let device = try DeviceSecret.load(
            vaultID: bytes("vaultID"), identification: keys.deviceIdentification, from: files.root, on: files)
        #expect(try device.map { $0.identifier.span.array(0..<16) } == bytes("deviceID"))
        for (protection, name) in [
            (Accessibility.whenUnlocked, "itemA"), (.afterFirstUnlock, "itemC"), (.always, "itemD"),
            (.whenUnlockedThisDeviceOnly, "itemDeviceA"),
            (.afterFirstUnlockThisDeviceOnly, "itemDeviceC"), (.alwaysThisDeviceOnly, "itemDeviceD"),
            (.whenPasscodeSetThisDeviceOnly, "itemDeviceA"),
        ] {
            let key = try keys.itemKey(id, version: 3, protection: protection, device: device).exposed
            #expect(try key == bytes(name), "\(protection)")
        }
    }

    @Test func `the item's key opens the value that was sealed elsewhere`() throws {
        let keys = try vaultKeys()
        let key = try keys.itemKey(itemID(), version: 3, protection: .whenUnlocked, device: nil)
        let (box, nonce, value) = (try bytes("valueBox"), try bytes("nonce"), try bytes("value"))
        let plain = try SecretBox.open(box.span, nonce: nonce.span, key: key).exposed
        let content = try Padding.content(of: plain.span, minimum: Layout.valueMinimum)
        #expect(Array(plain[content]) == value)
    }

    @Test func `a new vault may not cost less than 64 MiB and 3 passes, nor more than a reader accepts`() {
        #expect(KeyDerivationCost(passes: 3, memoryBytes: 64 << 20) == .interactive)
        let mebibyte: UInt64 = 1 << 20
        let refused: [(UInt32, UInt64)] = [
            (2, 64 * mebibyte), (3, 63 * mebibyte), (3, 64 * mebibyte + 1), (65, 64 * mebibyte), (3, 8192 * mebibyte),
            (5, 4096 * mebibyte),
        ]
        for (passes, memoryBytes) in refused {
            #expect(KeyDerivationCost(passes: passes, memoryBytes: memoryBytes) == nil)
        }
        #expect(KeyDerivationCost.moderate == KeyDerivationCost(passes: 3, memoryBytes: 256 << 20))
    }

    @Test func `a derivation that takes more than half of the available memory is not begun`() throws {
        let builder = try VaultBuilder()
        for (available, isEnough) in [(UInt64(15 << 20), false), (16 << 20, true)] {
            let disk = SimulatedDisk(availableMemory: available)
            disk.put(builder.bytes, as: VaultBuilder.name)
            let locked = try LockedStore(
                disk.root.appending(VaultBuilder.name), environment: .seeded("memory", on: disk))
            var failure: StorageError?
            do throws(StorageError) { _ = try locked.open(with: try locked.unlock(with: try passphrase())) } catch {
                failure = error
            }
            #expect(failure == (isEnough ? nil : .resourceUnavailable))
        }
    }

    private func passphrase() throws(StorageError) -> Passphrase {
        guard let passphrase = try? Passphrase.of(VaultBuilder.passphrase) else { throw .wrongPassphrase }
        return passphrase
    }

    @Test func `a locked set of keys opens what is readable after the first unlock alone`() throws {
        var keys = try vaultKeys()
        keys.lock()
        let id = try itemID()
        var locked: StorageError?
        do throws(StorageError) { _ = try keys.itemKey(id, version: 3, protection: .whenUnlocked, device: nil) } catch {
            locked = error
        }
        #expect(locked == .locked)
        let key = try keys.itemKey(id, version: 3, protection: .afterFirstUnlock, device: nil).exposed
        #expect(try key == bytes("itemC"))
    }

    @Test func `what a device remembers is under the anchor key, by the name of the path`() throws {
        let name = try #require(
            try AnchorFiles.name(of: FilePath(String(decoding: bytes("anchorPath"), as: UTF8.self))))
        #expect(try name == bytes("anchorName"))
        let anchor = Anchor(
            vaultID: try bytes("vaultID"), generation: 7, sequence: 300, chainTag: Array(0..<32), resolvedName: name)
        let keys = try vaultKeys()
        #expect(try FoundAnchor.sealed(anchor, keys) == bytes("anchor"))
        // An anchor as version 0.1 wrote it.
        let old = try #require(try FoundAnchor(bytes("oldAnchor") + bytes("oldAnchorMAC"), under: name))
        let isSigned = old.isSigned(by: keys.anchor)
        #expect(isSigned && old.anchor.sequence == 300 && old.anchor.resolvedName == nil)
    }

    @Test func `a passphrase and a key file make one secret`() throws {
        let content = try bytes("keyFile")
        // Shorter than a key file may be, so the digest is computed here.
        var hash = KeyedHash(outputLength: 64)
        hash.update(content)
        let digest = Secret(try hash.secret(64))
        let text = try bytes("passphrase")
        let passphrase = try Passphrase(SecretBytes(copying: text.span))
        let both = UnlockingSecret.passphraseAndKeyFile(passphrase, try KeyFile(digest: digest))
        #expect(try both.secret().exposed == bytes("passphraseAndKeyFile"))
    }
}

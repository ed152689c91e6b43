// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The keys below the vault key that live as long as the vault is open, across all generations of the file.
///
/// `K_anchor, K_devid, K_gen, K_audit = crypto_kdf(VK, 1, 3, 4, 5, "VLT1vk__")`, `K_class = crypto_kdf(VK, 1 to 3,
/// "VLT1cls_")`.
struct VaultKeys: ~Copyable {
    let vaultID: [UInt8]
    /// `nil` while locked, as is the key of class A.
    private(set) var vaultKey: SecretBytes?
    let generationRoot: SecretBytes
    let anchor: SecretBytes
    let deviceIdentification: SecretBytes
    let audit: SecretBytes
    private var whenUnlocked: SecretBytes?
    private let afterFirstUnlock: SecretBytes
    private let always: SecretBytes

    init(vaultKey: consuming SecretBytes, vaultID: [UInt8]) throws(CryptoError) {
        // All keys are made before any is set, since the compiler cannot deinitialize part of a noncopyable value.
        let anchor = try KeyDerivation.subkey(1, of: vaultKey, context: "VLT1vk__").keptApart()
        let deviceIdentification = try KeyDerivation.subkey(3, of: vaultKey, context: "VLT1vk__").keptApart()
        let generationRoot = try KeyDerivation.subkey(4, of: vaultKey, context: "VLT1vk__").keptApart()
        let audit = try KeyDerivation.subkey(5, of: vaultKey, context: "VLT1vk__").keptApart()
        let whenUnlocked = try KeyDerivation.subkey(1, of: vaultKey, context: "VLT1cls_").keptApart()
        let afterFirstUnlock = try KeyDerivation.subkey(2, of: vaultKey, context: "VLT1cls_").keptApart()
        let always = try KeyDerivation.subkey(3, of: vaultKey, context: "VLT1cls_").keptApart()
        let kept = try vaultKey.keptApart()
        self.vaultID = vaultID
        self.anchor = anchor
        self.deviceIdentification = deviceIdentification
        self.audit = audit
        self.generationRoot = generationRoot
        self.whenUnlocked = consume whenUnlocked
        self.afterFirstUnlock = afterFirstUnlock
        self.always = always
        self.vaultKey = consume kept
    }

    /// A copy without the keys that locking wipes.
    func lockedCopy() throws(CryptoError) -> VaultKeys { try VaultKeys(lockedCopyOf: self) }

    private init(lockedCopyOf keys: borrowing VaultKeys) throws(CryptoError) {
        let generationRoot = try keys.generationRoot.copy().keptApart()
        let anchor = try keys.anchor.copy().keptApart()
        let deviceIdentification = try keys.deviceIdentification.copy().keptApart()
        let audit = try keys.audit.copy().keptApart()
        let afterFirstUnlock = try keys.afterFirstUnlock.copy().keptApart()
        let always = try keys.always.copy().keptApart()
        vaultID = keys.vaultID
        self.generationRoot = generationRoot
        self.anchor = anchor
        self.deviceIdentification = deviceIdentification
        self.audit = audit
        self.afterFirstUnlock = afterFirstUnlock
        self.always = always
        vaultKey = nil
        whenUnlocked = nil
    }

    var isLocked: Bool {
        switch vaultKey {
        case .some: false
        case .none: true
        }
    }

    /// Whether both were derived from the same vault key.
    func belongTogether(with other: borrowing VaultKeys) -> Bool {
        vaultID == other.vaultID
            && generationRoot.withBytes { own in other.generationRoot.withBytes { isEqualInConstantTime(own, $0) } }
    }

    /// Wipes the keys that only an unlocked vault has.
    mutating func lock() {
        vaultKey = nil
        whenUnlocked = nil
    }

    /// Whether values of this protection can be opened and sealed now.
    func canUse(_ protection: Accessibility) -> Bool {
        switch protection {
        case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: !isLocked
        default: true
        }
    }

    /// `K_item`: the key of one version of one item's value.
    ///
    /// - Parameter device: the secret of this device, for items that are bound to it.
    /// - Throws: `.locked` if the protection class requires an unlocked vault; `.noStateDirectory` without a device
    ///   secret.
    func itemKey(_ id: ItemID, version: UInt64, protection: Accessibility, device: DeviceSecret?) throws(StorageError)
        -> SecretBytes
    {
        switch protection {
        case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly:
            switch whenUnlocked {
            case .some(let key): return try itemKey(id, version, key, protection.isThisDeviceOnly, device)
            case .none: throw .locked
            }
        case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly:
            return try itemKey(id, version, afterFirstUnlock, protection.isThisDeviceOnly, device)
        case .always, .alwaysThisDeviceOnly:
            return try itemKey(id, version, always, protection.isThisDeviceOnly, device)
        }
    }

    private func itemKey(
        _ id: ItemID, _ version: UInt64, _ classKey: borrowing SecretBytes, _ isBound: Bool, _ device: DeviceSecret?
    ) throws(StorageError) -> SecretBytes {
        if isBound {
            guard let device else { throw .noStateDirectory }
            var hash = KeyedHash(key: classKey)
            hash.update("VLT1 dev")
            device.secret.withBytes { hash.update($0) }
            do throws(CryptoError) { return try valueKey(id, version, under: try hash.secret()) } catch {
                throw StorageError(error)
            }
        }
        return try secured(valueKey(id, version, under: classKey))
    }

    private func valueKey(_ id: ItemID, _ version: UInt64, under classKey: borrowing SecretBytes) throws(CryptoError)
        -> SecretBytes
    {
        var hash = KeyedHash(key: classKey)
        hash.update("VLT1 val")
        hash.update(vaultID)
        hash.update(id.bytes.span)
        hash.update(version)
        return try hash.secret()
    }
}

/// The keys of one generation of the file: frames cannot move between generations.
///
/// `GK = BLAKE2b-256(K_gen, "VLT1 gen" || vaultID || generation || fileSalt || suite)`, then `crypto_kdf(GK, 1 to 5,
/// "VLT1gen_")`.
struct GenerationKeys: ~Copyable {
    let header: SecretBytes
    let mark: SecretBytes
    let chain: SecretBytes
    let metadata: SecretBytes
    let digest: SecretBytes

    init(root: borrowing SecretBytes, header: Header) throws(CryptoError) {
        var hash = KeyedHash(key: root)
        hash.update("VLT1 gen")
        hash.update(header.vaultID)
        hash.update(header.generation)
        hash.update(header.fileSalt)
        hash.update(Header.suite)
        let generationKey = try hash.secret()
        let headerKey = try KeyDerivation.subkey(1, of: generationKey, context: "VLT1gen_").keptApart()
        let mark = try KeyDerivation.subkey(2, of: generationKey, context: "VLT1gen_").keptApart()
        let chain = try KeyDerivation.subkey(3, of: generationKey, context: "VLT1gen_").keptApart()
        let metadata = try KeyDerivation.subkey(4, of: generationKey, context: "VLT1gen_").keptApart()
        let digest = try KeyDerivation.subkey(5, of: generationKey, context: "VLT1gen_").keptApart()
        self.header = headerKey
        self.mark = mark
        self.chain = chain
        self.metadata = metadata
        self.digest = digest
    }

    func headerMAC(_ bytes: Span<UInt8>) -> Digest { Self.mac(header, bytes) }

    func markMAC(_ bytes: Span<UInt8>) -> Digest { Self.mac(mark, bytes) }

    /// chainTag_0, on which every later tag depends.
    func genesisTag(_ header: Span<UInt8>) -> Digest {
        var hash = KeyedHash(key: chain)
        hash.update("VLT1 genesis")
        hash.update(header)
        return hash.digest()
    }

    /// - Parameter covered: the frame's head and metadata box.
    func frameTag(after previous: Digest, _ covered: Span<UInt8>) -> Digest {
        var hash = KeyedHash(key: chain)
        hash.update("VLT1 frame")
        hash.update(previous.bytes.span)
        hash.update(covered)
        return hash.digest()
    }

    private static func mac(_ key: borrowing SecretBytes, _ bytes: Span<UInt8>) -> Digest {
        var hash = KeyedHash(key: key)
        hash.update(bytes)
        return hash.digest()
    }
}

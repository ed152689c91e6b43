// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
internal import VaultCrypto
internal import VaultFormat

extension VaultStore {
    /// Creates an empty vault where there is no file.
    ///
    /// - Parameters:
    ///   - path: of the new file. A missing directory is created with mode 0700.
    ///   - entries: further key slots.
    /// - Throws: `.alreadyExists`, with the existing file untouched.
    package static func create(
        at path: FilePath, unlockedBy secret: UnlockingSecret, cost: KeyDerivationCost, environment: VaultEnvironment,
        also entries: [SlotEntry] = []
    ) throws(StorageError) -> VaultStore {
        let fileSystem = environment.fileSystem
        try createDirectory(of: path, on: fileSystem)
        let location = try VaultLocation(path, on: fileSystem)
        // An early check before the derivation; the rename below decides.
        guard try attempt(.open, location.directory.status(of: location.name)) == nil else { throw .alreadyExists }
        let random = environment.random
        var header = Header(
            vaultID: random.bytes(16), generation: 1, fileSalt: random.bytes(32), baseSequence: 0, slots: [])
        let entry = SlotEntry(secret, name: secret.kind.label, cost: cost)
        let keys = try makeKeys(for: [entry] + entries, header: &header, environment)
        guard try attempt(.open, location.directory.status(of: location.name)) == nil else { throw .alreadyExists }
        // The device's anchors belong to a vault that no longer exists.
        try attempt(.remove, AnchorFiles(of: location, environment)?.removeAll())
        let page: HeaderPage
        do throws(StorageError) {
            var file = try NewFile(header, root: keys.generationRoot, length: 0, in: location, environment)
            try file.finish()
            page = file.page
            try file.finish(replacing: false)
        } catch {
            // The vault did not exist before, so it makes no difference which step failed.
            guard case .inputOutput(let errno, _) = error else { throw error }
            throw .inputOutput(errno, .write)
        }
        do throws(StorageError) {
            return try VaultStore(location, page: page, keys: keys, environment: environment, isNameDurable: true)
        } catch {
            // The vault was created but cannot be read.
            if case .inputOutput(let errno, _) = error { throw .indeterminate(errno) }
            throw error
        }
    }
}

extension VaultStore {
    /// Creates the vault's directory, also if the path is a dangling symbolic link.
    static func createDirectory(of path: FilePath, on fileSystem: any VaultFileSystem) throws(StorageError) {
        for _ in 0..<2 {
            let resolved = (try? fileSystem.resolve(path)) ?? path
            let directory = resolved.removingLastComponent()
            guard !directory.isEmpty else { return }
            try attempt(.createDirectory, fileSystem.createDirectories(directory))
        }
    }

    /// Generates the vault key and adds slots for the secrets to the header.
    private static func makeKeys(
        for entries: [SlotEntry], header: inout Header, _ environment: VaultEnvironment
    ) throws(StorageError) -> VaultKeys {
        let vaultKey = try secured(environment.random.secret(32))
        try header.set(try environment.makeSlots(entries, vaultKey, header.vaultID))
        do throws(CryptoError) { return try VaultKeys(vaultKey: vaultKey, vaultID: header.vaultID) } catch {
            throw StorageError(error)
        }
    }
}

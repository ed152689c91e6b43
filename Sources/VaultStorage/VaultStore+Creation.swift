// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
internal import VaultCrypto
internal import VaultFormat

extension VaultStore {
    /// Makes an empty vault where there is no file.
    ///
    /// - Parameters:
    ///   - path: its directory is made, mode 0700, when it does not exist.
    ///   - entries: what opens the vault as well.
    /// - Throws: `.alreadyExists`, with what is there untouched.
    public static func create(
        at path: FilePath, unlockedBy secret: UnlockingSecret, cost: KeyDerivationCost, environment: VaultEnvironment,
        also entries: [SlotEntry] = []
    ) throws(StorageError) -> VaultStore {
        let fileSystem = environment.fileSystem
        try createDirectory(of: path, on: fileSystem)
        let location = try VaultLocation(path, on: fileSystem)
        // A look before the derivation; the rename below decides.
        guard try attempt(.open, { () throws(Errno) in try location.directory.status(of: location.name) }) == nil else {
            throw .alreadyExists
        }
        let random = environment.random
        var header = Header(vaultID: random.bytes(16), generation: 1, fileSalt: random.bytes(32), baseSequence: 0, slots: [])
        let entry = SlotEntry(secret, name: secret.kind.label, cost: cost)
        let keys = try makeKeys(for: [entry] + entries, header: &header, environment)
        let generationKeys = try secured { () throws(CryptoError) in try GenerationKeys(root: keys.generationRoot, header: header) }
        let page = HeaderPage(sealing: header, keys: generationKeys)
        let genesis = LogPosition(sequence: 0, end: Layout.firstFrame, tag: generationKeys.genesisTag(page.bytes.span))
        var bytes = page.bytes
        for _ in Layout.markOffsets {
            bytes += Marks.encode(genesis, generation: 1, clean: true, keys: generationKeys)
            bytes.appendZeros(Layout.markAreaLength - CommitMark.length)
        }
        guard try attempt(.open, { () throws(Errno) in try location.directory.status(of: location.name) }) == nil else {
            throw .alreadyExists
        }
        // What this device remembers is of a vault that is no longer there.
        try attempt(.remove) { () throws(Errno) in try AnchorFiles(of: location, environment)?.removeAll() }
        guard bytes.count <= fileSystem.fileSizeLimit else { throw .inputOutput(.fileTooLarge, .write) }
        let name = location.temporaryName(random)
        do throws(Errno) {
            let file = try location.directory.createTemporary(name)
            do throws(Errno) {
                try file.writeAll(bytes.span, at: 0)
                guard try file.read(bytes.count, at: 0) == bytes else { throw .ioError }
                // For a delete on a full disk; a disk that is that full already may do without.
                try? file.reserve(VaultStore.reserve, at: bytes.count)
                try file.synchronize()
                try location.directory.place(file, temporaryName: name, as: location.name, replacing: false)
            } catch {
                try? location.directory.remove(name)
                throw error
            }
        } catch {
            throw error == .fileExists ? .alreadyExists : .inputOutput(error, .write)
        }
        do throws(Errno) { try location.directory.synchronize() } catch { throw .indeterminate(error) }
        do throws(StorageError) {
            let store = try VaultStore(location, page: page, keys: keys, environment: environment)
            store.isNameDurable = true
            return store
        } catch {
            // The vault is made, and cannot be read.
            if case .inputOutput(let errno, _) = error { throw .indeterminate(errno) }
            throw error
        }
    }
}

extension VaultStore {
    /// Makes the directory that the vault will be in, also where the path is a symbolic link to nothing yet.
    static func createDirectory(of path: FilePath, on fileSystem: any VaultFileSystem) throws(StorageError) {
        for _ in 0..<2 {
            let resolved = (try? fileSystem.resolve(path)) ?? path
            let directory = resolved.removingLastComponent()
            guard !directory.isEmpty else { return }
            try attempt(.createDirectory) { () throws(Errno) in try fileSystem.createDirectories(directory) }
        }
    }

    /// Draws the vault key and puts slots for the secrets into the header.
    private static func makeKeys(
        for entries: [SlotEntry], header: inout Header, _ environment: VaultEnvironment
    ) throws(StorageError) -> VaultKeys {
        let vaultKey = try secured { () throws(CryptoError) in try environment.random.secret(32) }
        try header.place(try environment.makeSlots(entries, vaultKey, header.vaultID))
        do throws(CryptoError) { return try VaultKeys(vaultKey: vaultKey, vaultID: header.vaultID) } catch { throw StorageError(error) }
    }
}

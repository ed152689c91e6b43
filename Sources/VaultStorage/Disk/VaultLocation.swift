// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The location of a vault: an open directory, and a name in it. The path is not resolved again.
struct VaultLocation {
    let fileSystem: any VaultFileSystem
    let directory: any VaultDirectory
    let name: String
    /// The absolute form of the given path, with links and `..` unresolved.
    let given: FilePath

    /// Resolves the path and checks the directory.
    ///
    /// - Throws: `.noVault` if the directory does not exist; `.refused` if other users could put a file of theirs in
    ///   the vault's place.
    init(_ path: FilePath, on fileSystem: any VaultFileSystem) throws(StorageError) {
        let resolved: FilePath
        do throws(Errno) { resolved = try fileSystem.resolve(path) } catch {
            if error == .noSuchFileOrDirectory || error == .notDirectory { throw .noVault }
            throw .inputOutput(error, .resolve)
        }
        guard let name = resolved.lastComponent?.string else { throw .refused(.notARegularFile) }
        // The temporary file's name is 22 bytes longer, and a name has at most 255.
        guard name.utf8.count <= 233 else { throw .refused(.nameTooLong) }
        do throws(Errno) { directory = try fileSystem.openDirectory(resolved.removingLastComponent()) } catch {
            if error == .noSuchFileOrDirectory { throw .noVault }
            throw .inputOutput(error, .openDirectory)
        }
        self.fileSystem = fileSystem
        self.name = name
        // Without a working directory, a process can only use absolute paths.
        given = ((try? fileSystem.workingDirectory()) ?? "/").pushingUnresolved(path)
        try checkDirectory()
    }

    /// The location of a new file.
    ///
    /// - Throws: `.inputOutput` if its directory does not exist.
    init(ofNew path: FilePath, on fileSystem: any VaultFileSystem) throws(StorageError) {
        do throws(StorageError) { try self.init(path, on: fileSystem) } catch {
            throw error == .noVault ? .inputOutput(.noSuchFileOrDirectory, .openDirectory) : error
        }
    }

    var path: FilePath { directory.path.appending(name) }

    /// Opens the vault file for reading, and if requested for writing.
    func open(writable: Bool) throws(StorageError) -> any VaultFile {
        guard let status = try attempt(.open, directory.status(of: name)) else { throw .noVault }
        // Checked before opening, since opening a device can have side effects.
        guard status.kind == .regular else { throw .refused(.notARegularFile) }
        guard status.owner == fileSystem.user else { throw .refused(.foreignOwner) }
        let file: any VaultFile
        do throws(Errno) { file = try directory.open(name, writable: writable) } catch {
            if error == .noSuchFileOrDirectory { throw .noVault }
            throw .inputOutput(error, .open)
        }
        // Checked again after opening: this is the file that will be read, whatever the name referred to before.
        let opened = try attempt(.open, file.status())
        guard opened.kind == .regular else { throw .refused(.notARegularFile) }
        guard opened.owner == fileSystem.user else { throw .refused(.foreignOwner) }
        let refusal: Refusal? =
            opened.mode & 0o077 != 0 ? .accessibleByOthers : opened.links > 1 ? .severalLinks : nil
        guard let refusal else { return file }
        // The user should not be asked to change the mode or the links of another program's file.
        throw try beginsAsVault(file) ? .refused(refusal) : .damaged(.notAVault)
    }

    private func beginsAsVault(_ file: any VaultFile) throws(StorageError) -> Bool {
        let begin = try attempt(.read, file.read(Header.magic.count, at: 0))
        do throws(FormatError) { try Header.checkMagic(begin.span) } catch { return false }
        return true
    }

    private func checkDirectory() throws(StorageError) {
        let status = try attempt(.openDirectory, directory.status())
        guard status.mode & 0o002 == 0 || status.mode & 0o1000 != 0 else { throw .refused(.directoryWritableByOthers) }
        if status.mode & 0o020 != 0, status.mode & 0o1000 == 0, !fileSystem.isPrivateGroup(status.group) {
            throw .refused(.directoryWritableByGroup)
        }
    }

    var lockName: String { ".\(name).lock" }

    /// Creates the temporary file that becomes the vault.
    func newFile(_ random: any RandomSource) throws(Errno) -> DurableFile {
        try DurableFile(name, in: directory, random)
    }

    /// Removes temporary files of killed processes; only the holder of the writer lock may call this.
    func removeLeftovers() { DurableFile.removeLeftovers(of: name, in: directory, ownedBy: fileSystem.user) }
}

extension FilePath {
    /// Another path relative to this one: without `.`, otherwise unresolved.
    package func pushingUnresolved(_ path: FilePath) -> FilePath {
        let whole = pushing(path)
        guard whole.string.contains("/./") || whole.string.hasSuffix("/.") else { return whole }
        return FilePath(root: whole.root, whole.components.filter { $0.kind != .currentDirectory })
    }
}

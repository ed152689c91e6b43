// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// Where a vault is: a directory that was opened once, and a name in it. Nothing looks at the path again.
struct VaultLocation {
    let fileSystem: any VaultFileSystem
    let directory: any VaultDirectory
    let name: String
    /// The path as it was given, from the root: links and `..` stand as they are.
    let given: FilePath

    /// Resolves the path and checks the directory.
    ///
    /// - Throws: `.noVault` when the directory does not exist; `.refused` when others could put a file of theirs in the
    ///   vault's place.
    init(_ path: FilePath, on fileSystem: any VaultFileSystem) throws(StorageError) {
        let resolved: FilePath
        do throws(Errno) { resolved = try fileSystem.resolve(path) } catch {
            if error == .noSuchFileOrDirectory || error == .notDirectory { throw .noVault }
            throw .inputOutput(error, .resolve)
        }
        guard let name = resolved.lastComponent?.string else { throw .refused(.notARegularFile) }
        // The temporary file's name has 22 bytes more, and a name has at most 255.
        guard name.utf8.count <= 233 else { throw .refused(.nameTooLong) }
        do throws(Errno) { directory = try fileSystem.openDirectory(resolved.removingLastComponent()) } catch {
            if error == .noSuchFileOrDirectory { throw .noVault }
            throw .inputOutput(error, .openDirectory)
        }
        self.fileSystem = fileSystem
        self.name = name
        // A process without a working directory names files from the root, or none.
        given = ((try? fileSystem.workingDirectory()) ?? "/").pushingUnresolved(path)
        try checkDirectory()
    }

    /// Where a file is to be made.
    ///
    /// - Throws: `.inputOutput` when its directory does not exist.
    init(ofNew path: FilePath, on fileSystem: any VaultFileSystem) throws(StorageError) {
        do throws(StorageError) { try self.init(path, on: fileSystem) } catch {
            throw error == .noVault ? .inputOutput(.noSuchFileOrDirectory, .openDirectory) : error
        }
    }

    var path: FilePath { directory.path.appending(name) }

    /// Opens the vault file, for writing too if that is allowed.
    func open(writable: Bool) throws(StorageError) -> any VaultFile {
        guard let status = try attempt(.open, directory.status(of: name)) else {
            throw .noVault
        }
        // Before the open: opening a device can have effects of its own.
        guard status.kind == .regular else { throw .refused(.notARegularFile) }
        guard status.owner == fileSystem.user else { throw .refused(.foreignOwner) }
        let file: any VaultFile
        do throws(Errno) { file = try directory.open(name, writable: writable) } catch {
            if error == .noSuchFileOrDirectory { throw .noVault }
            throw .inputOutput(error, .open)
        }
        // And after it: this is the file that will be read, whatever the name stood for before.
        let opened = try attempt(.open, file.status())
        guard opened.kind == .regular else { throw .refused(.notARegularFile) }
        guard opened.owner == fileSystem.user else { throw .refused(.foreignOwner) }
        let refusal: Refusal? =
            opened.mode & 0o077 != 0 ? .accessibleByOthers : opened.links > 1 ? .severalLinks : nil
        guard let refusal else { return file }
        // Of another program's file nobody is to change the mode or the links.
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

    /// The file that will be the vault.
    func newFile(_ random: any RandomSource) throws(Errno) -> DurableFile {
        try DurableFile(name, in: directory, random)
    }

    /// Removes temporary files that a killed process left; only the holder of the writer lock may.
    func removeLeftovers() { DurableFile.removeLeftovers(of: name, in: directory, ownedBy: fileSystem.user) }
}

extension FilePath {
    /// Another path seen from here: without `.`, and with everything else as it stands.
    package func pushingUnresolved(_ path: FilePath) -> FilePath {
        let whole = pushing(path)
        return FilePath(root: whole.root, whole.components.filter { $0.kind != .currentDirectory })
    }
}

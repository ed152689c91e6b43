// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// 32 random bytes that never leave this device and are in no backup: items "of this device only" are sealed under them
/// as well.
///
/// Stored in `<state directory>/<vault identifier>.device`, mode 0600.
final class DeviceSecret: Sendable {
    static let length = 32

    let secret: SecretBytes
    /// The first 16 bytes of BLAKE2b-256(K_devid, secret), which items of this device carry.
    let identifier: [16 of UInt8]

    private init(_ secret: consuming SecretBytes, identification: borrowing SecretBytes) {
        var hash = KeyedHash(key: identification)
        secret.withBytes { hash.update($0) }
        identifier = hash.digest().bytes.span.sixteen(at: 0)
        self.secret = secret
    }

    /// Reads the secret; `nil` if this device has none for the vault yet.
    static func load(
        vaultID: [UInt8], identification: borrowing SecretBytes, from state: FilePath?,
        on fileSystem: any VaultFileSystem
    ) throws(StorageError) -> DeviceSecret? {
        guard let state else { return nil }
        let directory: any VaultDirectory
        do throws(Errno) { directory = try fileSystem.openDirectory(state) } catch {
            if error == .noSuchFileOrDirectory || error == .notDirectory { return nil }
            throw .inputOutput(error, .openDirectory)
        }
        let name = fileName(vaultID)
        guard try attempt(.open, directory.status(of: name)) != nil else { return nil }
        let file = try attempt(.open, directory.open(name, writable: false))
        let status = try attempt(.open, file.status())
        // The file was synced before it was named, so a wrong length means damage and not an unfinished creation.
        guard status.kind == .regular, status.owner == fileSystem.user, status.mode & 0o077 == 0, status.size == length
        else {
            throw .refused(.deviceSecret)
        }
        // The bytes pass briefly through ordinary memory; a port for reading into locked memory would serve only this
        // line.
        var bytes = try attempt(.read, file.read(length + 1, at: 0))
        defer { wipe(&bytes) }
        guard bytes.count == length else { throw .refused(.deviceSecret) }
        let secret = try secured(SecretBytes(copying: bytes.span))
        return DeviceSecret(secret, identification: identification)
    }

    /// Creates the secret, durable with its directory before anything is sealed under it. The first process to create
    /// it wins.
    static func create(
        vaultID: [UInt8], identification: borrowing SecretBytes, in state: FilePath?,
        on fileSystem: any VaultFileSystem,
        random: any RandomSource
    ) throws(StorageError) -> DeviceSecret {
        guard let state else { throw .noStateDirectory }
        try attempt(.createDirectory, fileSystem.createDirectories(state))
        let directory = try attempt(.openDirectory, fileSystem.openDirectory(state))
        let name = fileName(vaultID)
        let secret = try secured(random.secret(length))
        do throws(Errno) {
            try secret.withBytes { bytes throws(Errno) in
                try DurableFile.write(bytes, to: name, in: directory, replacing: false, random)
            }
        } catch {
            guard error == .fileExists else { throw .inputOutput(error, .write) }
            try attempt(.write, directory.synchronize())
        }
        guard let made = try load(vaultID: vaultID, identification: identification, from: state, on: fileSystem) else {
            throw .inputOutput(.ioError, .read)
        }
        return made
    }

    private static func fileName(_ vaultID: [UInt8]) -> String { hexadecimal(vaultID) + ".device" }
}

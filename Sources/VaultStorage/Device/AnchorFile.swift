// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The files in which this device keeps the last seen state of the vault at a path: one for the path as given and one
/// for the path with all links resolved, `<state directory>/<32 hex of BLAKE2b-128(path)>.anchor`. A link put in the
/// vault's place changes only the second.
struct AnchorFiles {
    /// The 16 bytes in a file's name.
    typealias Name = [UInt8]

    private let state: FilePath
    private let fileSystem: any VaultFileSystem
    let resolved: Name
    let given: Name

    /// Returns `nil` if there is no directory to keep them in.
    init?(of location: VaultLocation, _ environment: VaultEnvironment) {
        guard let state = environment.stateDirectory, environment.remembersStates else { return nil }
        guard let resolved = Self.name(of: location.path), let given = Self.name(of: location.given) else { return nil }
        self.state = state
        fileSystem = environment.fileSystem
        self.resolved = resolved
        self.given = given
    }

    /// Returns `nil` without memory for it.
    static func name(of path: FilePath) -> Name? {
        var hash = KeyedHash(outputLength: 16)
        hash.update(Array(path.string.utf8))
        guard let digest = try? hash.secret(16) else { return nil }
        return digest.withBytes { $0.array(0..<16) }
    }

    static func fileName(_ name: Name) -> String { hexadecimal(name) + suffix }

    private static let suffix = ".anchor"

    /// The names, the resolved path's first.
    var names: [Name] { given == resolved ? [resolved] : [resolved, given] }

    /// The valid anchors.
    func found() -> [FoundAnchor] { names.compactMap { read($0) } }

    /// Returns `nil` if there is no valid anchor.
    func read(_ name: Name) -> FoundAnchor? {
        guard let directory = try? fileSystem.openDirectory(state) else { return nil }
        return read(name, Self.fileName(name), in: directory)
    }

    private func read(_ name: Name, _ fileName: String, in directory: any VaultDirectory) -> FoundAnchor? {
        guard let status = try? directory.status(of: fileName), status.kind == .regular,
            status.owner == fileSystem.user,
            let file = try? directory.open(fileName, writable: false),
            let bytes = try? file.read(Anchor.length + 1, at: 0)
        else { return nil }
        return FoundAnchor(bytes, under: name)
    }

    func replace(_ name: Name, with anchor: Anchor, keys: borrowing VaultKeys, _ random: any RandomSource) throws(Errno)
    {
        try fileSystem.createDirectories(state)
        let directory = try fileSystem.openDirectory(state)
        let fileName = Self.fileName(name)
        // Temporary files of a process that was killed.
        DurableFile.removeLeftovers(of: fileName, in: directory, ownedBy: fileSystem.user)
        try DurableFile.write(
            FoundAnchor.sealed(anchor, keys).span, to: fileName, in: directory, replacing: true, random)
    }

    /// Removes all anchors of the place, including those of other paths that led there.
    func removeAll() throws(Errno) {
        guard let directory = try? fileSystem.openDirectory(state) else { return }
        var isChanged = false
        for fileName in try directory.names() where fileName.hasSuffix(Self.suffix) {
            let isOwn = names.contains { Self.fileName($0) == fileName }
            guard isOwn || read([], fileName, in: directory)?.anchor.resolvedName == resolved else { continue }
            do throws(Errno) { try directory.remove(fileName) } catch {
                if error != .noSuchFileOrDirectory { throw error }
            }
            isChanged = true
        }
        if isChanged { try directory.synchronize() }
    }

    /// Locks the anchors, for a device whose vault is in a directory where no file can be created; there is no other
    /// writer then.
    ///
    /// - Returns: `nil` if another process holds the lock or it cannot be created.
    func lock() -> (any VaultFile)? {
        guard (try? fileSystem.createDirectories(state)) != nil, let directory = try? fileSystem.openDirectory(state),
            let file = try? directory.openOrCreate(Self.fileName(resolved) + ".lock"),
            (try? file.tryLock(exclusive: true)) == true
        else { return nil }
        return file
    }
}

/// An anchor as read from a file, of which only the checksum was verified.
struct FoundAnchor {
    let anchor: Anchor
    /// The name under which the anchor is stored.
    let name: AnchorFiles.Name
    /// The bytes that the MAC covers.
    private let covered: [UInt8]
    private let mac: Digest

    /// Returns `nil` if the bytes are not an anchor, or were changed without updating the checksum.
    init?(_ bytes: [UInt8], under name: AnchorFiles.Name) {
        guard let anchor = try? Anchor(parsing: bytes.span) else { return nil }
        self.anchor = anchor
        self.name = name
        let macOffset = anchor.resolvedName == nil ? Anchor.oldMACOffset : Anchor.macOffset
        covered = Array(bytes[..<macOffset])
        mac = Digest(bytes.span.extracting(macOffset..<bytes.count))
        guard anchor.resolvedName != nil else { return }
        let sum = KeyedHash.digest(bytes.span.extracting(0..<Anchor.sumOffset))
        guard sum == Digest(bytes.span.extracting(Anchor.sumOffset..<Anchor.macOffset)) else { return nil }
    }

    /// The bytes of the file.
    static func sealed(_ anchor: Anchor, _ keys: borrowing VaultKeys) -> [UInt8] {
        var bytes = anchor.encoded()
        bytes.append(KeyedHash.digest(bytes.span).bytes)
        bytes.append(mac(of: bytes, keys.anchor).bytes)
        return bytes
    }

    /// Whether the anchor counts: an anchor in the form of version 0.1 must be signed by the key.
    func counts(_ keys: borrowing VaultKeys) -> Bool { anchor.resolvedName != nil || isSigned(by: keys.anchor) }

    func isSigned(by key: borrowing SecretBytes) -> Bool { Self.mac(of: covered, key) == mac }

    var state: KnownState {
        KnownState(generation: anchor.generation, sequence: anchor.sequence, tag: Digest(anchor.chainTag.span))
    }

    /// `BLAKE2b-256(K_anchor, everything before it)`
    private static func mac(of covered: [UInt8], _ key: borrowing SecretBytes) -> Digest {
        var hash = KeyedHash(key: key)
        hash.update(covered)
        return hash.digest()
    }
}

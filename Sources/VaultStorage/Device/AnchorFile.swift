// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// Where this device keeps what it has seen of the vault at a place: one file for the path as it was given and one for
/// the path behind every link, `<state directory>/<32 hex of BLAKE2b-128(path)>.anchor`. A link that is put in the
/// vault's place changes the second alone.
struct AnchorFiles {
    /// 16 bytes of a file's name.
    typealias Name = [UInt8]

    private let state: FilePath
    private let fileSystem: any VaultFileSystem
    let resolved: Name
    let given: Name

    /// Nil: there is nowhere to keep any.
    init?(of location: VaultLocation, _ environment: VaultEnvironment) {
        guard let state = environment.stateDirectory, environment.remembersStates else { return nil }
        guard let resolved = Self.name(of: location.path), let given = Self.name(of: location.given) else { return nil }
        self.state = state
        fileSystem = environment.fileSystem
        self.resolved = resolved
        self.given = given
    }

    /// Nil: there is no memory for it.
    static func name(of path: FilePath) -> Name? {
        var hash = KeyedHash(outputLength: 16)
        hash.update(Array(path.string.utf8))
        guard let digest = try? hash.secret(16) else { return nil }
        return digest.withBytes { $0.array(0..<16) }
    }

    static func fileName(_ name: Name) -> String { hexadecimal(name) + suffix }

    private static let suffix = ".anchor"

    /// The names, that of the resolved path first.
    var names: [Name] { given == resolved ? [resolved] : [resolved, given] }

    /// The anchors that are there and whole.
    func found() -> [FoundAnchor] { names.compactMap { read($0) } }

    /// Nil: there is none, or what is there is not one.
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
        // Those of a process that was killed.
        DurableFile.removeLeftovers(of: fileName, in: directory, ownedBy: fileSystem.user)
        try DurableFile.write(
            FoundAnchor.sealed(anchor, keys).span, to: fileName, in: directory, replacing: true, random)
    }

    /// Removes what this device remembers of the place, also what it remembers under other paths that led there.
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

    /// The lock for a device whose vault lies where no file can be made; there is no other writer then.
    ///
    /// - Returns: nil when another process has it, or there can be none.
    func lock() -> (any VaultFile)? {
        guard (try? fileSystem.createDirectories(state)) != nil, let directory = try? fileSystem.openDirectory(state),
            let file = try? directory.openOrCreate(Self.fileName(resolved) + ".lock"),
            (try? file.tryLock(exclusive: true)) == true
        else { return nil }
        return file
    }
}

/// An anchor as it was read. Only its checksum has been looked at.
struct FoundAnchor {
    let anchor: Anchor
    /// Under which name it lies.
    let name: AnchorFiles.Name
    /// What the MAC covers.
    private let covered: [UInt8]
    private let mac: Digest

    /// Nil: it is none, or was changed without the hash of the change.
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

    /// One in the form of version 0.1 that the key does not vouch for says nothing.
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

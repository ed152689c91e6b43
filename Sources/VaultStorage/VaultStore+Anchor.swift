// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
public import VaultFormat

// What the device remembers of the vault, outside the file. Whoever rolls back both wins; whoever spoils the anchor could have deleted it.

extension VaultStore {
    private var anchorFile: AnchorFile? { AnchorFile(of: location, environment) }

    /// The first look at the file, beside what the device remembers of it.
    func openFirst() throws(StorageError) {
        do throws(StorageError) { try openBesideAnchor() } catch {
            switch error {
            case .damaged, .unsupported, .rekeyed, .rolledBack: break
            default: throw error
            }
            try withWritersKeptOut { () throws(StorageError) in try openBesideAnchor() }
        }
        if newestDurable?.isOfDevice != true { anchorFirst() }
    }

    /// The anchor is read first: it never runs ahead of the file, so what is in it must be there.
    private func openBesideAnchor() throws(StorageError) {
        newestDurable = try knownToDevice()
        try reopen()
    }

    /// What this device has seen of the vault.
    ///
    /// - Throws: `.rolledBack` when it has seen another vault at this path.
    func knownToDevice() throws(StorageError) -> KnownState? {
        guard let (anchor, mac) = anchorFile?.read() else { return nil }
        guard anchor.vaultID == header.vaultID else { throw .rolledBack }
        let known = KnownState(
            generation: anchor.generation, sequence: anchor.sequence, tag: Digest(anchor.chainTag.span), isOfDevice: true)
        if keys.anchorMAC(anchor) == mac { return known }
        // A rekey has made the key another one: then the file that this one is an older copy of has a later generation.
        return anchor.generation > header.generation ? known : nil
    }

    /// Writes the anchor of a vault that this device has none of, unless another writer is at it, or none ever was.
    func anchorFirst() {
        guard anchorFile != nil, (try? checkWritable()) != nil, (try? lock.lock(patience: .zero, creating: false)) != nil else { return }
        defer { lock.unlock() }
        do throws(StorageError) {
            try catchUp(repairing: true)
            // A mark that was only read may be in the page cache alone.
            try synchronizing { () throws(Errno) in
                try file.synchronizeData()
                try location.directory.synchronize()
            }
        } catch {
            return
        }
        guard !isForgotten else { return }
        moveAnchor(to: tip.position, generation: header.generation)
    }

    /// Under the writer lock: notes a state that is durable with its name. The device goes without if that fails, and a later state is kept.
    func moveAnchor(to position: LogPosition, generation: UInt64, isForced: Bool = false) {
        guard let anchorFile else { return }
        if !isForced, let (found, mac) = anchorFile.read() {
            // That of another vault is for whoever opens that to heed.
            guard found.vaultID == header.vaultID else { return }
            let isOwn = keys.anchorMAC(found) == mac
            guard !isOwn || (found.generation, found.sequence) < (generation, position.sequence) else { return }
        }
        let anchor = Anchor(of: header.vaultID, generation: generation, at: position)
        try? anchorFile.replace(with: anchor, mac: keys.anchorMAC(anchor), environment.random)
        newestDurable?.isOfDevice = true
    }

    /// Makes an older copy, or whatever vault is at the path now, the state that everybody goes on from: the file is written anew, so that two
    /// histories never share a generation.
    public func acceptAsNewest() throws(StorageError) {
        try check()
        try checkWritable()
        try lock.lock()
        defer { lock.unlock() }
        try catchUp(repairing: false)
        try rewrite(above: anchorFile?.read()?.anchor)
        if isForgotten { try reopen() }
        moveAnchor(to: tip.position, generation: header.generation, isForced: true)
    }
}

extension Anchor {
    init(of vaultID: [UInt8], generation: UInt64, at position: LogPosition) {
        self.init(
            vaultID: vaultID, generation: generation, sequence: position.sequence, chainTag: position.tag.bytes.span.array(0..<32))
    }
}

extension VaultKeys {
    /// `BLAKE2b-256(K_anchor, bytes 0..71)`
    func anchorMAC(_ anchor: Anchor) -> Digest {
        var hash = KeyedHash(key: self.anchor)
        hash.update(anchor.encoded())
        return hash.digest()
    }
}

/// `<state directory>/<32 hex of BLAKE2b-128(resolved path)>.anchor`
struct AnchorFile {
    private let state: FilePath
    private let name: String
    private let fileSystem: any VaultFileSystem

    /// Nil: there is nowhere to keep one.
    init?(of location: VaultLocation, _ environment: VaultEnvironment) {
        guard let state = environment.stateDirectory, environment.remembersStates else { return nil }
        guard let name = Self.name(of: location.path.string) else { return nil }
        self.state = state
        fileSystem = environment.fileSystem
        self.name = name
    }

    /// Nil: there is no memory for it.
    static func name(of path: String) -> String? {
        var hash = KeyedHash(outputLength: 16)
        hash.update(Array(path.utf8))
        guard let digest = try? hash.secret(16) else { return nil }
        return hexadecimal(digest.withBytes { $0.array(0..<16) }) + ".anchor"
    }

    /// Nil: there is none, or what is there is not one.
    func read() -> (anchor: Anchor, mac: Digest)? {
        guard let directory = try? fileSystem.openDirectory(state), let status = try? directory.status(of: name),
            status.kind == .regular, status.owner == fileSystem.user, let file = try? directory.open(name, writable: false),
            let bytes = try? file.read(Anchor.length + 1, at: 0), bytes.count == Anchor.length,
            let anchor = try? Anchor(parsing: bytes.span)
        else { return nil }
        return (anchor, Digest(bytes.span.extracting(Anchor.macOffset..<Anchor.length)))
    }

    func replace(with anchor: Anchor, mac: Digest, _ random: any RandomSource) throws(Errno) {
        try fileSystem.createDirectories(state)
        let directory = try fileSystem.openDirectory(state)
        let prefix = ".\(name).tmp-"
        // Those of a process that was killed; whoever holds the lock is the only one who makes them.
        for leftover in try directory.names() where leftover.hasPrefix(prefix) { try? directory.remove(leftover) }
        let temporary = prefix + hexadecimal(random.bytes(8))
        let file = try directory.createTemporary(temporary)
        do throws(Errno) {
            try file.writeAll((anchor.encoded() + mac.bytes.span.array(0..<32)).span, at: 0)
            try file.synchronize()
            try directory.place(file, temporaryName: temporary, as: name, replacing: true)
        } catch {
            try? directory.remove(temporary)
            throw error
        }
        try directory.synchronize()
    }

    /// For a new vault at the path.
    func remove() throws(Errno) {
        guard read() != nil, let directory = try? fileSystem.openDirectory(state) else { return }
        try directory.remove(name)
        try directory.synchronize()
    }
}

extension LockedStore {
    /// What this device says of the newest state that it has seen at this path, which cannot be checked without a key. Nil: nothing.
    public var anchor: Anchor? { AnchorFile(of: location, environment)?.read()?.anchor }
}

// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
public import VaultFormat

// What the device remembers of the vault, outside the file. An attacker who rolls back both wins.

extension VaultStore {
    private var anchorFiles: AnchorFiles? { AnchorFiles(of: location, environment) }

    /// The anchors that say something.
    private func foundAnchors() -> [FoundAnchor] { anchorFiles?.found().filter { $0.counts(keys) } ?? [] }

    /// The first look at the file, beside what the device remembers of it.
    func openFirst() throws(StorageError) {
        do throws(StorageError) { try openBesideAnchors() } catch {
            switch error {
            case .damaged, .unsupported, .rekeyed, .rolledBack: break
            default: throw error
            }
            try lock.keepingWritersOut { () throws(StorageError) in try openBesideAnchors() }
        }
        keepAnchors()
    }

    /// The anchors are read first: they never run ahead of the file, so what is in them must be there.
    private func openBesideAnchors() throws(StorageError) {
        let found = foundAnchors()
        newestDurable = nil
        try reopen(through: try states(in: found))
        try checkSuccession(of: found)
    }

    /// What the anchors say that this vault's key has made.
    ///
    /// - Throws: `.rolledBack` when the device has seen another vault at this place.
    private func states(in found: [FoundAnchor]) throws(StorageError) -> [KnownState] {
        let own = found.filter { $0.anchor.vaultID == header.vaultID && $0.isSigned(by: keys.anchor) }
        for other in found where other.anchor.vaultID != header.vaultID {
            // A link that its owner turned to another vault, which the device knows by the path behind it. Where the
            // vault itself lay, there was none.
            let wasLink = isOfGivenPathAlone(other) && other.anchor.resolvedName != other.name
            guard wasLink, own.contains(where: { $0.name != other.name }) else { throw .rolledBack }
        }
        return own.map(\.state)
    }

    private func isOfGivenPathAlone(_ found: FoundAnchor) -> Bool { found.name != anchorFiles?.resolved }

    /// An anchor that this vault's key has not made is one from before a rekey of this very file, or the file is not
    /// the one that was rekeyed.
    private func checkSuccession(of found: [FoundAnchor]) throws(StorageError) {
        let unsigned = found.filter { $0.anchor.vaultID == header.vaultID && !$0.isSigned(by: keys.anchor) }
        guard !unsigned.isEmpty else { return }
        let succession = try self.succession()
        for anchor in unsigned where try succession?.passes(anchor) != true {
            log.lose()
            throw .rolledBack
        }
    }

    /// Brings the anchors up to the newest state that is durable, unless another process is at the vault.
    private func keepAnchors() {
        guard let anchorFiles,
            anchorFiles.names.contains(where: { wantsAnchor($0, log.base.position, header.generation, anchorFiles) })
        else { return }
        withAnchorsLocked { () throws(StorageError) in
            try catchUp(repairing: false)
            try checkSuccession(of: foundAnchors())
            try log.synchronize()
            // Not every mount knows how; the name was there before.
            try? location.directory.synchronize()
            moveAnchors(to: log.base.position)
        }
    }

    /// Runs the body with the writer lock, or with one of this device's own where the directory takes no files. Not at
    /// all while another process is at it; what fails is tried again at the next opening.
    private func withAnchorsLocked(_ body: () throws(StorageError) -> Void) {
        do throws(StorageError) {
            try lock.holding(patience: .zero) { try? body() }
        } catch {
            guard error != .busy, let own = anchorFiles?.lock() else { return }
            defer { own.unlock() }
            try? body()
        }
    }

    /// Whether what is under the name says less than the state.
    private func wantsAnchor(
        _ name: AnchorFiles.Name, _ position: LogPosition, _ generation: UInt64, _ files: AnchorFiles
    ) -> Bool {
        guard let found = files.read(name), found.counts(keys) else { return true }
        // What is known of another vault at the path as given counts when its owner turns the link back.
        guard found.anchor.vaultID == header.vaultID else { return false }
        guard found.isSigned(by: keys.anchor) else { return (try? succession()?.passes(found)) == true }
        let (old, new) = ((found.anchor.generation, found.anchor.sequence), (generation, position.sequence))
        return old < new || old == new && found.anchor.resolvedName != files.resolved
    }

    /// Under the writer lock: notes a state that is durable with its name. The device goes without if that fails, and a
    /// later state is kept.
    func moveAnchors(to position: LogPosition, generation: UInt64? = nil) {
        guard let anchorFiles else { return }
        let generation = generation ?? header.generation
        for name in anchorFiles.names where wantsAnchor(name, position, generation, anchorFiles) {
            writeAnchor(name, position, generation, anchorFiles)
        }
    }

    /// Under the writer lock: what this device remembers of the place is of another state, which a person has let go on
    /// purpose.
    func replaceAnchors() {
        guard let anchorFiles else { return }
        try? anchorFiles.removeAll()
        for name in anchorFiles.names { writeAnchor(name, tip.position, header.generation, anchorFiles) }
    }

    private func writeAnchor(
        _ name: AnchorFiles.Name, _ position: LogPosition, _ generation: UInt64, _ files: AnchorFiles
    ) {
        let anchor = Anchor(of: header.vaultID, generation: generation, at: position, resolvedName: files.resolved)
        try? files.replace(name, with: anchor, keys: keys, environment.random)
    }

    /// Writes down the newest state that this handle knows of, before it says that the file is behind that: the next
    /// process, with no memory of its own, would take the older file for good.
    func rememberNewest() { withAnchorsLocked { () throws(StorageError) in writeNewest() } }

    /// Under the writer lock.
    func writeNewest() {
        guard let newestDurable, let anchorFiles else { return }
        for name in anchorFiles.names {
            if let found = anchorFiles.read(name), found.counts(keys) {
                let isOlder =
                    (found.anchor.generation, found.anchor.sequence) < (
                        newestDurable.generation, newestDurable.sequence
                    )
                guard found.anchor.vaultID == header.vaultID, found.isSigned(by: keys.anchor), isOlder else { continue }
            }
            let position = LogPosition(sequence: newestDurable.sequence, end: 0, tag: newestDurable.tag)
            writeAnchor(name, position, newestDurable.generation, anchorFiles)
        }
    }

    /// Makes an older copy, or whatever vault is at the path now, the state that everybody goes on from: the file is
    /// written anew, so that two histories never share a generation.
    public func acceptAsNewest() throws(StorageError) {
        try withWriterLock { () throws(StorageError) in
            try rewrite(above: anchorFiles?.found().map(\.anchor) ?? [])
            if log.isLost { try reopen() }
            replaceAnchors()
        }
    }
}

extension Anchor {
    init(of vaultID: [UInt8], generation: UInt64, at position: LogPosition, resolvedName: AnchorFiles.Name) {
        self.init(
            vaultID: vaultID, generation: generation, sequence: position.sequence,
            chainTag: position.tag.bytes.span.array(0..<32),
            resolvedName: resolvedName)
    }
}

extension LockedStore {
    /// What this device says of the newest state that it has seen here, which cannot be checked without a key. Empty:
    /// nothing.
    public var anchors: [Anchor] {
        AnchorFiles(of: location, environment)?.found().map(\.anchor).filter { $0.resolvedName != nil } ?? []
    }
}

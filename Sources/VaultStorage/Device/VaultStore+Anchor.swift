// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
package import VaultFormat

// The device's record of the vault, kept outside the file. An attacker who rolls back both is not detected.

extension VaultStore {
    private var anchorFiles: AnchorFiles? { AnchorFiles(of: location, environment) }

    /// The anchors that count.
    private func foundAnchors() -> [FoundAnchor] { anchorFiles?.found().filter { $0.counts(keys) } ?? [] }

    /// Opens the file for the first time, checking it against the anchors.
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

    /// Reads the anchors first: they never run ahead of the file, so it must include their states.
    private func openBesideAnchors() throws(StorageError) {
        let found = foundAnchors()
        newestDurable = nil
        try reopen(through: try states(in: found))
        try checkSuccession(of: found)
    }

    /// The states in anchors that this vault's key has signed.
    ///
    /// - Throws: `.rolledBack` if the device has seen another vault at this place.
    private func states(in found: [FoundAnchor]) throws(StorageError) -> [KnownState] {
        let own = found.filter { $0.anchor.vaultID == header.vaultID && $0.isSigned(by: keys.anchor) }
        for other in found where other.anchor.vaultID != header.vaultID {
            // The path may be a link that its owner has redirected to another vault, which the device knows by the
            // resolved path. A path at which the vault itself was stored was not a link.
            let wasLink = isOfGivenPathAlone(other) && other.anchor.resolvedName != other.name
            guard wasLink, own.contains(where: { $0.name != other.name }) else { throw .rolledBack }
        }
        return own.map(\.state)
    }

    private func isOfGivenPathAlone(_ found: FoundAnchor) -> Bool { found.name != anchorFiles?.resolved }

    /// An anchor not made by this vault's key must be from before a rekey of this very file; otherwise the file is not
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

    /// Updates the anchors to the newest durable state, unless another process is using the vault.
    private func keepAnchors() {
        guard let anchorFiles,
            anchorFiles.names.contains(where: { wantsAnchor($0, log.base.position, header.generation, anchorFiles) })
        else { return }
        withAnchorsLocked { () throws(StorageError) in
            try catchUp(repairing: false)
            try checkSuccession(of: foundAnchors())
            try log.synchronize()
            // Not every mount supports this; the name already existed.
            try? location.directory.synchronize()
            moveAnchors(to: log.base.position)
        }
    }

    /// Runs the body with the writer lock, or with a lock of this device if the directory accepts no files. Skipped
    /// while another process holds the lock; failures are retried at the next opening.
    private func withAnchorsLocked(_ body: () throws(StorageError) -> Void) {
        do throws(StorageError) {
            try lock.holding(patience: .zero) { try? body() }
        } catch {
            guard error != .busy, let own = anchorFiles?.lock() else { return }
            defer { own.unlock() }
            try? body()
        }
    }

    /// Whether the anchor under the name is older than the state.
    private func wantsAnchor(
        _ name: AnchorFiles.Name, _ position: LogPosition, _ generation: UInt64, _ files: AnchorFiles
    ) -> Bool {
        guard let found = files.read(name), found.counts(keys) else { return true }
        // An anchor of another vault at the given path stays valid, for when its owner turns the link back.
        guard found.anchor.vaultID == header.vaultID else { return false }
        guard found.isSigned(by: keys.anchor) else { return (try? succession()?.passes(found)) == true }
        let (old, new) = ((found.anchor.generation, found.anchor.sequence), (generation, position.sequence))
        return old < new || old == new && found.anchor.resolvedName != files.resolved
    }

    /// Under the writer lock: records a durable state. A failure is ignored, and a later state is recorded instead.
    func moveAnchors(to position: LogPosition, generation: UInt64? = nil) {
        guard let anchorFiles else { return }
        let generation = generation ?? header.generation
        for name in anchorFiles.names where wantsAnchor(name, position, generation, anchorFiles) {
            writeAnchor(name, position, generation, anchorFiles)
        }
    }

    /// Under the writer lock: replaces the anchors of another state, which the user has deliberately abandoned.
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

    /// Records the newest state that this handle knows, before reporting that the file is behind it: the next process,
    /// which has no memory of its own, would otherwise accept the older file.
    func rememberNewest() { withAnchorsLocked { () throws(StorageError) in writeNewest() } }

    /// Under the writer lock: records the newest state that this handle knows.
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

    /// Accepts an older copy, or whatever vault is at the path now, as the newest state: the file is rewritten, so that
    /// two histories never share a generation.
    package func acceptAsNewest() throws(StorageError) {
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
    /// The device's records of the newest state seen at this place, which cannot be verified without a key; empty if
    /// none.
    package var anchors: [Anchor] {
        AnchorFiles(of: location, environment)?.found().map(\.anchor).filter { $0.resolvedName != nil } ?? []
    }
}

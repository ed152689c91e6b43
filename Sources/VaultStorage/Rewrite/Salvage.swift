// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
internal import VaultCrypto
package import VaultFormat

/// The result of salvaging a damaged vault.
public struct Salvage: Sendable {
    /// The reason why an item or its newest value is not in the new vault.
    public enum Loss: Sendable {
        /// The item is present with the newest intact one of its older values.
        case newestValue
        /// The item is present without its value.
        case value
    }

    /// The number of intact items.
    public var whole = 0
    /// Incomplete items, from their metadata.
    package var damaged: [(operation: Operation, loss: Loss)] = []
    /// The number of frames with authentic metadata.
    public var frames = 0
    /// The number of frames that are missing in between.
    public var missingFrames: UInt64 = 0
    /// The minimum and maximum number of items missing with those frames. The two are equal if the frames before and
    /// after belong to the same addition of many items.
    public var missingItems = 0...0
    /// Whether there may have been frames before the first: their number is in the header, which is not as it was
    /// written.
    public var lacksStart = false
    /// Bytes that contain nothing made by the key.
    public var unreadableBytes = 0
    /// Whether the header is as it was written. If not, only the slot that opened is in the new vault.
    public var isHeaderWhole = true
}

extension LockedStore {
    /// Writes all authentic data of this file to a new vault, which opens with the same secrets.
    ///
    /// Neither marks nor chain need be intact: every frame's metadata is a box of its own, with its position in the
    /// log. Deletions in a lost frame are undone; additions and changes in it are missing or reverted. A vault of a
    /// fleet becomes a new device there, as a backup does.
    ///
    /// - Parameters:
    ///   - path: of the new vault, where no file may exist.
    ///   - accepts: called if the rest lacks some of the state that this device has seen of the vault: the file may be
    ///     an older one whose marks an attacker has destroyed.
    ///   - report: called with the progress, from 0 to 1.
    /// - Throws: `.alreadyExists`, `.rolledBack`; `.unsupported` for data of a newer version; `.damaged(.header)` if
    ///   there is nothing to start from.
    package func salvage(
        with keys: consuming UnlockedKeys, to path: FilePath, accepts: (MissingState) -> Bool, report: (Double) -> Void
    ) throws(StorageError) -> Salvage {
        let target = try VaultLocation(ofNew: path, on: environment.fileSystem)
        guard try attempt(.open, target.directory.status(of: target.name)) == nil else { throw .alreadyExists }
        let slotID = keys.slotID
        var salvager = try Salvager(self, keys.keys)
        try salvager.scan(report)
        let anchors = AnchorFiles(of: location, environment)?.found() ?? []
        if let missing = try salvager.missing(in: anchors), !accepts(missing) { throw .rolledBack }
        return try salvager.write(to: target, slotID: slotID)
    }
}

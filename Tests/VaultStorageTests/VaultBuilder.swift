// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Builds vault files byte for byte, the same in every run, and damages them with the right keys.
struct VaultBuilder: Sendable {
    static let passphrase = "correct horse battery staple"
    static let name = "v"

    private(set) var bytes: [UInt8]
    let keys: Keys

    /// The keys of a vault, in a form that is acceptable only in tests.
    final class Keys: Sendable {
        let vaultKey: Secret
        let vault: VaultKeys

        init(_ vaultKey: Secret, _ vaultID: [UInt8]) throws {
            self.vaultKey = vaultKey
            vault = try VaultKeys(vaultKey: SecretBytes(copying: vaultKey.exposed.span), vaultID: vaultID)
        }
    }

    var header: Header { get throws { try Header(parsing: bytes.span) } }

    func generationKeys() throws -> GenerationKeys {
        try GenerationKeys(root: keys.vault.generationRoot, header: header)
    }

    /// Builds a vault with four commits: three items, then a replacement of one.
    init(seed: String = "vectors", values: [String] = ["one", "two", "three"]) throws {
        let disk = SimulatedDisk()
        let store = try VaultStore.create(
            at: disk.root.appending(Self.name), unlockedBy: .passphrase(.of(Self.passphrase)), cost: .weakest,
            environment: .seeded(seed, on: disk))
        for (index, value) in values.enumerated() { try Self.add(value, to: store, account: "account \(index)") }
        try Self.replace(0, with: values[0] + " again", in: store)
        try store.settleMarks()
        guard let inode = disk.inode(Self.name), let key = try Self.key(of: store) else { throw StorageError.noVault }
        bytes = inode.bytes
        keys = try Keys(key, store.header.vaultID)
    }

    init(_ bytes: [UInt8], _ keys: Keys) {
        self.bytes = bytes
        self.keys = keys
    }

    static func key(of store: VaultStore) throws -> Secret? {
        switch store.keys.vaultKey {
        case .some(let key): return try Secret(bytes: key.exposed)
        case .none: return nil
        }
    }

    static func add(_ value: String, to store: VaultStore, account: String, unknown: [UInt8] = []) throws {
        let secret = try Secret(text: value)
        try store.change { (session: inout WriteSession) throws(StorageError) in
            let attributes = EncodedAttributes([AttributeTag(rawValue: 0x10): .string(account)], user: [:])
            let operation = Operation(
                kind: .put, itemClass: .genericPassword, protection: .whenUnlocked, id: session.makeItemID(),
                version: 1,
                valueVersion: 0, ordinal: session.nextOrdinal, created: store.now, modified: store.now, value: nil,
                deviceID: .init(repeating: 0), attributes: attributes)
            try session.stage(operation, value: .set(secret))
        }
    }

    static func replace(_ place: Int, with value: String, in store: VaultStore) throws {
        let secret = try Secret(text: value)
        try store.change { (session: inout WriteSession) throws(StorageError) in
            guard var operation = store.records[place] else { return }
            operation.version += 1
            try session.stage(operation, value: .set(secret))
        }
    }

    // MARK: Positions

    /// The ranges of the frames.
    var frames: [Range<Int>] {
        var frames: [Range<Int>] = []
        var offset = Layout.firstFrame
        while offset + 4 <= bytes.count {
            let length = Int(bytes.span.integer(at: offset, as: UInt32.self))
            guard length > 0, offset + length <= bytes.count else { break }
            frames.append(offset..<offset + length)
            offset += length
        }
        return frames
    }

    // MARK: Damage

    mutating func set(_ offset: Int, _ value: UInt8) { bytes[offset] = value }

    mutating func set<I: FixedWidthInteger & UnsignedInteger>(_ offset: Int, integer value: I) {
        for index in 0..<MemoryLayout<I>.size {
            bytes[offset + index] = UInt8(truncatingIfNeeded: value >> I(8 * index))
        }
    }

    mutating func flip(_ offset: Int) { bytes[offset] ^= 0x10 }

    mutating func replace(_ range: Range<Int>, with other: [UInt8]) { bytes.replaceSubrange(range, with: other) }

    mutating func cut(to size: Int) { bytes.removeLast(bytes.count - size) }

    /// Corrects the header's checksum, which needs no key.
    mutating func repairSum() {
        let sum = KeyedHash.digest(bytes.span.extracting(0..<Layout.headerSumOffset))
        replace(Layout.headerSumOffset..<Layout.headerLength, with: sum.bytes.span.array(0..<32))
    }

    /// Corrects the header MAC, the checksum, the chain of frames and the marks, which needs the key.
    mutating func resign(generation root: [UInt8]? = nil) throws {
        let keys = try generationKeys()
        let mac = keys.headerMAC(bytes.span.extracting(0..<Layout.headerMACOffset))
        replace(Layout.headerMACOffset..<Layout.headerSumOffset, with: mac.bytes.span.array(0..<32))
        repairSum()
    }

    /// Corrects a mark's MAC.
    mutating func resignMark(_ index: Int) throws {
        let start = Layout.markOffsets[index]
        let mac = try generationKeys().markMAC(bytes.span.extracting(start..<start + CommitMark.macOffset))
        replace(start + CommitMark.macOffset..<start + CommitMark.length, with: mac.bytes.span.array(0..<32))
    }

    /// Writes a mark.
    mutating func mark(_ index: Int, _ position: LogPosition) throws {
        let start = Layout.markOffsets[index]
        var area = Marks.encode(position, generation: try header.generation, clean: false, keys: try generationKeys())
        area.appendZeros(Layout.markAreaLength - area.count)
        replace(start..<start + Layout.markAreaLength, with: area)
    }

    mutating func destroyMark(_ index: Int) {
        replace(
            Layout.markOffsets[index]..<Layout.markOffsets[index] + Layout.markAreaLength,
            with: [UInt8](repeating: 0, count: 4096))
    }

    /// Returns the position after each frame, beginning with the state before the first frame.
    func positions() throws -> [LogPosition] {
        let keys = try generationKeys()
        let header = try header
        var positions = [
            LogPosition(
                sequence: header.baseSequence, end: Layout.firstFrame,
                tag: keys.genesisTag(bytes.span.extracting(0..<Layout.headerLength)))
        ]
        for (index, frame) in frames.enumerated() {
            let covered =
                frame.lowerBound..<frame.lowerBound + Layout.frameHeadLength
                + Int(bytes.span.integer(at: frame.lowerBound + 16, as: UInt32.self))
            let tag = keys.frameTag(after: positions[index].tag, bytes.span.extracting(covered))
            positions.append(LogPosition(sequence: positions[index].sequence + 1, end: frame.upperBound, tag: tag))
        }
        return positions
    }

    /// Rebuilds the last frame with changed metadata, head or value area, and the marks: the output of a faulty or
    /// newer writer.
    mutating func rewriteLastFrame(
        _ change: (_ plain: inout [UInt8], _ head: inout FrameHead, _ area: inout [UInt8]) throws -> Void
    ) throws {
        let keys = try generationKeys()
        let frame = frames[frames.count - 1]
        let before = try positions()[frames.count - 1]
        var head = try FrameHead(
            parsing: bytes.span.extracting(frame.lowerBound..<frame.lowerBound + 80), available: frame.count)
        let boxRange = frame.lowerBound + 80..<frame.lowerBound + 80 + head.metadataLength
        var plain = try SecretBox.openPublic(
            bytes.span.extracting(boxRange), nonce: head.nonce.span, key: keys.metadata)
        var area = Array(bytes[boxRange.upperBound + 32..<frame.upperBound])
        try change(&plain, &head, &area)
        var digest = KeyedHash(key: keys.digest)
        digest.update(area)
        head.valueDigest = digest.digest().bytes.span.array(0..<32)
        head.metadataLength = plain.count + 16
        head.valueLength = area.count
        head.length = 112 + head.metadataLength + area.count
        var output: [UInt8] = []
        head.append(to: &output)
        SecretBox.seal(plain.span, nonce: head.nonce.span, key: keys.metadata, appendingTo: &output)
        let tag = keys.frameTag(after: before.tag, output.span)
        output += tag.bytes.span.array(0..<32)
        output += area
        replace(frame.lowerBound..<bytes.count, with: output)
        let position = LogPosition(sequence: head.sequence, end: frame.lowerBound + output.count, tag: tag)
        for index in 0..<2 { try mark(index, position) }
    }

    /// Changes the first operation of the last frame.
    mutating func rewriteLastOperation(_ change: @escaping (inout [UInt8], _ start: Int) -> Void) throws {
        try rewriteLastFrame { plain, _, _ in change(&plain, 4 + Layout.metadataHeadLength) }
    }

    /// Appends an attribute to the only operation of the last frame.
    mutating func appendToLastOperation(_ tag: AttributeTag, kind: UInt8, _ payload: [UInt8]) throws {
        try rewriteLastFrame { plain, _, _ in
            var content = Array(plain[4..<4 + Int(plain.span.integer(at: 0, as: UInt32.self))])
            content.append(integer: tag.rawValue)
            content.append(kind)
            content.append(integer: UInt32(payload.count))
            content += payload
            let length = UInt32(content.count - Layout.metadataHeadLength - Layout.operationLength)
            for index in 0..<4 {
                content[Layout.metadataHeadLength + 4 + index] = UInt8(truncatingIfNeeded: length >> UInt32(8 * index))
            }
            plain = []
            Padding.append(content.span, minimum: Layout.metadataMinimum, to: &plain)
        }
    }
}

extension VaultBuilder {
    /// Returns the same vault after a compaction.
    func compacted() throws -> VaultBuilder { try after { try $0.compact() } }

    /// Returns the same vault with another passphrase.
    func withChangedPassphrase() throws -> VaultBuilder {
        try after {
            try $0.changeSecret(
                from: .passphrase(.of(Self.passphrase)), to: .passphrase(.of("another")), cost: .weakest)
        }
    }

    private func after(_ change: (VaultStore) throws -> Void) throws -> VaultBuilder {
        let disk = SimulatedDisk()
        disk.put(bytes, as: Self.name)
        let locked = try LockedStore(disk.root.appending(Self.name), environment: .seeded("compaction", on: disk))
        let store = try locked.open(with: try locked.unlock(with: .of(Self.passphrase)))
        try change(store)
        guard let inode = disk.inode(Self.name) else { throw StorageError.noVault }
        return VaultBuilder(inode.bytes, keys)
    }

    /// Recomputes every MAC and tag of the file after a change of the header, keeping the contents.
    mutating func resignAll() throws {
        try resign()
        let keys = try generationKeys()
        var tag = keys.genesisTag(bytes.span.extracting(0..<Layout.headerLength))
        for frame in frames {
            let end =
                frame.lowerBound + Layout.frameHeadLength
                + Int(bytes.span.integer(at: frame.lowerBound + 16, as: UInt32.self))
            tag = keys.frameTag(after: tag, bytes.span.extracting(frame.lowerBound..<end))
            replace(end..<end + 32, with: tag.bytes.span.array(0..<32))
        }
        let last = try positions()[frames.count]
        for index in 0..<2 { try mark(index, last) }
    }
}

extension VaultStore {
    /// Opens a vault without a derivation, since the vault key is known.
    static func open(on disk: SimulatedDisk, vaultKey: Secret, environment: VaultEnvironment) throws(StorageError)
        -> VaultStore
    {
        let locked = try LockedStore(disk.root.appending(VaultBuilder.name), environment: environment)
        let keys = try secured(VaultKeys(vaultKey: vaultKey.bytes.copy(), vaultID: locked.header.vaultID))
        return try locked.open(with: UnlockedKeys(keys: keys, slotID: locked.header.slots[0].slotID))
    }
}

extension VaultStore {
    /// Compacts like a vault whose other threads continue to write.
    func compactBeside() throws(StorageError) {
        let compactor = try makeCompactor()
        var failure: StorageError?
        do throws(StorageError) { try compactor.compact() } catch { failure = error }
        rejoin(compactor, after: failure)
        if let failure { throw failure }
    }

    /// Runs a transaction.
    func change(_ body: (inout WriteSession) throws(StorageError) -> Void) throws(StorageError) {
        var failure: StorageError?
        try write { session in
            do throws(StorageError) { try session.transaction(body) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}

extension RecordTable {
    var sorted: [Operation] { sortedPlaces.compactMap { self[$0.place] } }
}

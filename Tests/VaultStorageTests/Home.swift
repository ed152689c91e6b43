// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// A device with its own disk, which holds vaults and the device's memory of them.
struct Home {
    static let passphrase = "correct horse"

    let disk: SimulatedDisk
    private let seed: String

    init(_ seed: String, disk: SimulatedDisk = SimulatedDisk()) {
        self.seed = seed
        self.disk = disk
    }

    /// Each opening uses its own random numbers, as processes do.
    func environment(_ number: Int = 0) -> VaultEnvironment { .seeded("\(seed) \(number)", on: disk, state: disk.root) }

    func path(_ name: String = "v") -> FilePath { disk.root.appending(name) }

    func create(_ name: String = "v", number: Int = 0) throws -> VaultStore {
        try VaultStore.create(
            at: path(name), unlockedBy: Self.secret(), cost: .weakest, environment: environment(number))
    }

    static func secret(_ text: String = passphrase) throws -> UnlockingSecret { .passphrase(try .of(text)) }

    func locked(_ name: String = "v", number: Int = 1) throws -> LockedStore {
        try LockedStore(path(name), environment: environment(number))
    }

    func open(
        _ name: String = "v", with secret: UnlockingSecret? = nil, number: Int = 1, acceptsOlderCopy: Bool = false
    ) throws -> VaultStore {
        let locked = try locked(name, number: number)
        return try locked.open(
            with: try locked.unlock(with: secret ?? Self.secret()), acceptsOlderCopy: acceptsOlderCopy)
    }

    func bytes(_ name: String = "v") throws -> [UInt8] {
        guard let inode = disk.inode(name) else { throw StorageError.noVault }
        return inode.bytes
    }

    /// Makes a settled vault of two items.
    func makeVault() throws -> [UInt8] {
        let store = try create()
        for value in ["one", "two"] { try store.put(value) }
        try store.settleMarks()
        return try bytes()
    }

    func change(number: Int = 2) throws {
        let store = try open(number: number)
        try store.put("more")
        try store.settleMarks()
    }

    /// Makes a name a link to another.
    func turn(_ name: String, to target: String) { disk.links.withLock { $0[path(name)] = path(target) } }

    var anchorName: String? {
        get throws { try disk.openDirectory(disk.root).names().first { $0.hasSuffix(".anchor") } }
    }

    /// Whether no temporary file is left.
    var isTidy: Bool { get throws { try disk.openDirectory(disk.root).names().allSatisfy { !$0.contains(".tmp-") } } }

    static func values(of store: VaultStore) throws -> [String] {
        try store.records.sorted.filter {
            $0.itemClass != nil && $0.value != nil && (try? store.isForeign($0)) == false
        }.map {
            String(decoding: try store.openValue(of: $0)?.exposed ?? [], as: UTF8.self)
        }.sorted()
    }
}

extension VaultStore {
    /// Adds an item, or another version of the item at a place.
    func put(_ value: String, at place: Int? = nil, protection: Accessibility = .whenUnlocked, keepingOld: Bool = false)
        throws
    {
        let secret = try Secret(text: value)
        try change { (session: inout WriteSession) throws(StorageError) in
            let old = place.flatMap { self.records[$0] }
            if var past = old, keepingOld {
                past.kind = .past
                try session.stage(past, value: .keep)
            }
            var operation =
                old
                ?? Operation(
                    kind: .put, itemClass: .genericPassword, protection: protection, id: session.makeItemID(),
                    version: 0,
                    valueVersion: 0, ordinal: session.nextOrdinal, created: 0, modified: 0, value: nil,
                    deviceID: .init(repeating: 0), attributes: .init())
            if operation.protection.isThisDeviceOnly { operation.deviceID = try session.deviceIdentifier() }
            operation.version += 1
            try session.stage(operation, value: .set(secret))
        }
    }

    func remove(_ place: Int, keepingOld: Bool = false) throws {
        try change { (session: inout WriteSession) throws(StorageError) in
            guard let old = self.records[place] else { return }
            var past = old
            past.kind = .past
            if keepingOld { try session.stage(past, value: .keep) }
            var removal = old
            removal.kind = .delete
            removal.version += 1
            removal.attributes = EncodedAttributes()
            try session.stage(removal, value: .none)
        }
    }

    func keepHistory(_ limit: Int) throws {
        try change { (session: inout WriteSession) throws(StorageError) in
            var settings =
                self.settings
                ?? Operation(
                    kind: .put, itemClass: nil, protection: .always, id: session.makeItemID(), version: 0,
                    valueVersion: 0,
                    ordinal: session.nextOrdinal, created: 0, modified: 0, value: nil, deviceID: .init(repeating: 0),
                    attributes: .init())
            settings.version += 1
            settings.attributes = VaultSettings.attributes(
                historyLimit: limit, deletedDays: nil, replacing: settings.attributes)
            try session.stage(settings, value: .none)
        }
    }
}

extension WriteSession {
    /// Adds an item to the open transaction.
    mutating func add(_ value: String) throws(StorageError) {
        let operation = Operation(
            kind: .put, itemClass: .genericPassword, protection: .whenUnlocked, id: makeItemID(), version: 1,
            valueVersion: 0, ordinal: nextOrdinal, created: 1, modified: 1, value: nil, deviceID: .init(repeating: 0),
            attributes: .init())
        let secret = try secured(Secret(SecretBytes(copying: Array(value.utf8).span)))
        try stage(operation, value: .set(secret))
    }
}

// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync
@testable import VaultSyncEtcd
@testable import VaultSyncPostgres

/// The kinds of store, each with a place of its own.
enum StoreKind: CaseIterable {
    case memory, folderInMemory, folderOnSimulatedDisk, folderOnNamingDisk, folderOnDisk, served, servedByCommand
    case postgres, etcd

    static var allCases: [StoreKind] {
        [.memory, .folderInMemory, .folderOnSimulatedDisk, .folderOnNamingDisk, .folderOnDisk, .served]
            + [.servedByCommand]
            + (PostgresServer.isInstalled ? [.postgres] : []) + (EtcdServer.isThere ? [.etcd] : [])
    }

    /// Whether the store sends hints at once.
    var tells: Bool {
        switch self {
        case .memory, .folderInMemory, .folderOnSimulatedDisk, .folderOnNamingDisk: false
        case .folderOnDisk, .served, .servedByCommand, .postgres, .etcd: true
        }
    }

    func place() throws -> StorePlace {
        switch self {
        case .memory:
            let store = MemoryRecordStore()
            return StorePlace { store }
        case .folderInMemory: return StorePlace(folderOn: MemoryFileSystem(), at: "/shared")
        case .folderOnSimulatedDisk: return StorePlace(folderOn: SimulatedDisk(), at: "/disk")
        case .folderOnNamingDisk: return StorePlace(folderOn: SimulatedDisk(namesTemporaries: true), at: "/disk")
        case .folderOnDisk:
            let directory = try TemporaryDirectory()
            return StorePlace { directory.store() }
        case .served:
            let directory = try TemporaryDirectory()
            return StorePlace {
                ServedRecordStore(ServedPair.link(to: directory.path, keeping: directory), realm: .of(0xab))
            }
        case .servedByCommand:
            let directory = try TemporaryDirectory()
            return StorePlace {
                ServedRecordStore(try ServedCommand.link(to: directory), realm: .of(0xab))
            }
        case .postgres:
            let (access, realm) = (try PostgresServer.shared.get().access(), RealmID.random())
            return StorePlace { PostgresRecordStore(access, realm: realm) }
        case .etcd:
            let (access, realm) = (try EtcdServer.shared.get().access(), Bytes16(SystemRandom().bytes(16)))
            return StorePlace { try EtcdRecordStore(access, realm: realm) }
        }
    }
}

/// The place of a store's records, independent of the store that accesses them.
struct StorePlace {
    /// Opens the store as another process would.
    let open: @Sendable () throws -> any RecordStore

    init(_ open: @escaping @Sendable () throws -> any RecordStore) { self.open = open }

    init(folderOn fileSystem: any VaultFileSystem, at root: FilePath) {
        self.init { DirectoryRecordStore(root, realm: .of(0xab), createsRoot: true, on: fileSystem) }
    }
}

extension TemporaryDirectory {
    /// Returns a folder on the real disk; the store keeps the directory alive.
    func store(_ name: String = "shared", createsRoot: Bool = true) -> DirectoryRecordStore {
        DirectoryRecordStore(path.appending(name), realm: .of(0xab), createsRoot: createsRoot, on: KeptDisk(self))
    }
}

/// The real disk, for the lifetime of a test's directory.
private struct KeptDisk: VaultFileSystem {
    private let disk = LinuxFileSystem()
    private let directory: TemporaryDirectory

    init(_ directory: TemporaryDirectory) { self.directory = directory }

    func resolve(_ path: FilePath) throws(Errno) -> FilePath { try disk.resolve(path) }
    func workingDirectory() throws(Errno) -> FilePath { try disk.workingDirectory() }
    func createDirectories(_ path: FilePath) throws(Errno) { try disk.createDirectories(path) }
    func openDirectory(_ path: FilePath) throws(Errno) -> any VaultDirectory { try disk.openDirectory(path) }
    var user: UInt32 { disk.user }
    func isPrivateGroup(_ group: UInt32) -> Bool { disk.isPrivateGroup(group) }
    var fileSizeLimit: Int { disk.fileSizeLimit }
    var availableMemory: UInt64? { disk.availableMemory }
}

extension Bytes16 {
    static func of(_ byte: UInt8) -> Bytes16 { Bytes16([UInt8](repeating: byte, count: 16)) }
}

extension RecordStream {
    static let roster = RecordStream(.roster, .of(0xab))
    static let logs = [RecordStream(.log, .of(1)), RecordStream(.log, .of(2))]
    static let blob = RecordStream(.blob, .of(3))
    static let mailbox = RecordStream(.mailbox, .of(4))
}

extension StoredRecord {
    static func of(_ stream: RecordStream, _ sequence: UInt64, _ text: String = "", count: Int = 600) -> StoredRecord {
        let bytes = Array("\(stream.kind) \(sequence) \(text)".utf8)
        return StoredRecord(
            RecordAddress(stream, sequence), bytes + [UInt8](repeating: 0x2e, count: max(0, count - bytes.count)))
    }
}

extension RecordStore {
    func all(_ stream: RecordStream, from sequence: UInt64 = 1) throws(RecordStoreError) -> [StoredRecord] {
        try all([StreamStart(stream, from: sequence)])
    }

    func all(_ starts: [StreamStart]) throws(RecordStoreError) -> [StoredRecord] {
        var records: [StoredRecord] = []
        try read(starts) { records.append($0) }
        return records
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import SystemPackage
internal import VaultSystem

/// Private files that live as long as the value: for the tests of applications.
package final class MemoryFileSystem: VaultFileSystem {
    private let root = MemoryDirectory(path: "/")

    package init() {}

    package func resolve(_ path: FilePath) throws(Errno) -> FilePath { path.lexicallyNormalized() }

    package func workingDirectory() throws(Errno) -> FilePath { "/" }

    package func createDirectories(_ path: FilePath) throws(Errno) {
        var directory = root
        for name in Self.names(in: path) { directory = try directory.child(name, creating: true) }
    }

    package func openDirectory(_ path: FilePath) throws(Errno) -> any VaultDirectory {
        var directory = root
        for name in Self.names(in: path) { directory = try directory.child(name, creating: false) }
        return directory
    }

    /// The components, as texts: each operation on a path takes many times as long without optimization.
    private static func names(in path: FilePath) -> [String] { path.string.split(separator: "/").map(String.init) }

    package var user: UInt32 { 0 }

    package func isPrivateGroup(_ group: UInt32) -> Bool { true }

    package var fileSizeLimit: Int { .max }

    package var availableMemory: UInt64? { nil }
}

private final class MemoryDirectory: VaultDirectory {
    let path: FilePath
    private let state = Mutex<State>(State())

    private struct State {
        var names: [String: Inode] = [:]
        var directories: [String: MemoryDirectory] = [:]
        var lastInode: UInt64 = 1

        func isTaken(_ name: String) -> Bool { names[name] != nil || directories[name] != nil }
    }

    init(path: FilePath) { self.path = path }

    private static let status = FileStatus(
        kind: .directory, device: 1, inode: 1, size: 0, owner: 0, group: 0, mode: 0o700, links: 1)

    func status() throws(Errno) -> FileStatus { Self.status }

    func status(of name: String) throws(Errno) -> FileStatus? {
        state.withLock { $0.directories[name] == nil ? $0.names[name]?.status : Self.status }
    }

    func open(_ name: String, writable: Bool) throws(Errno) -> any VaultFile {
        guard let inode = state.withLock({ $0.names[name] }) else { throw .noSuchFileOrDirectory }
        return MemoryFile(inode)
    }

    func openOrCreate(_ name: String) throws(Errno) -> any VaultFile {
        let inode: Inode? = state.withLock { state in
            if let inode = state.names[name] { return inode }
            guard state.directories[name] == nil else { return nil }
            state.lastInode += 1
            let inode = Inode(state.lastInode)
            state.names[name] = inode
            return inode
        }
        guard let inode else { throw .isDirectory }
        return MemoryFile(inode)
    }

    func createTemporary(_ name: String) throws(Errno) -> any VaultFile {
        MemoryFile(
            state.withLock { state in
                state.lastInode += 1
                return Inode(state.lastInode)
            })
    }

    func install(_ file: any VaultFile, temporaryName: String, as name: String, replacing: Bool) throws(Errno) {
        guard let file = file as? MemoryFile else { throw .invalidArgument }
        let hasName = state.withLock { state in
            guard !state.isTaken(name) || replacing && state.directories[name] == nil else { return false }
            state.names[name] = file.inode
            return true
        }
        guard hasName else { throw .fileExists }
    }

    func remove(_ name: String) throws(Errno) {
        guard state.withLock({ $0.directories[name] == nil }) else { throw .isDirectory }
        guard state.withLock({ $0.names.removeValue(forKey: name) }) != nil else { throw .noSuchFileOrDirectory }
    }

    func forEachName(_ body: (String) throws(Errno) -> Void) throws(Errno) {
        for name in state.withLock({ Array($0.names.keys) + $0.directories.keys }) { try body(name) }
    }

    func directory(_ name: String) throws(Errno) -> any VaultDirectory { try child(name, creating: false) }

    func createDirectory(_ name: String) throws(Errno) {
        let isNew = state.withLock { state in
            guard !state.isTaken(name) else { return false }
            state.directories[name] = MemoryDirectory(path: path.appending(name))
            return true
        }
        guard isNew else { throw .fileExists }
    }

    func child(_ name: String, creating: Bool) throws(Errno) -> MemoryDirectory {
        // An existing directory is fine.
        if creating { try? createDirectory(name) }
        let (child, isFile) = state.withLock { ($0.directories[name], $0.names[name] != nil) }
        guard let child else { throw isFile ? .notDirectory : .noSuchFileOrDirectory }
        return child
    }

    func synchronize() throws(Errno) {}

    var weakFileSystem: String? { nil }
}

/// A file, independent of its name and open handles.
private final class Inode: Sendable {
    let number: UInt64
    private let content = Mutex<[UInt8]>([])
    private let holders = Mutex<(exclusive: ObjectIdentifier?, shared: Set<ObjectIdentifier>)>((nil, []))

    init(_ number: UInt64) { self.number = number }

    var status: FileStatus {
        FileStatus(
            kind: .regular, device: 1, inode: number, size: content.withLock { $0.count }, owner: 0, group: 0,
            mode: 0o600, links: 1)
    }

    func read(_ count: Int, at offset: Int) -> [UInt8] {
        content.withLock { content in
            offset < content.count ? Array(content[offset..<min(content.count, offset + count)]) : []
        }
    }

    func write(_ bytes: Span<UInt8>, at offset: Int) {
        content.withLock { content in
            let missing = offset + bytes.count - content.count
            if missing > 0 { content.append(contentsOf: repeatElement(0, count: missing)) }
            for index in bytes.indices { content[offset + index] = bytes[index] }
        }
    }

    func truncate(to size: Int) {
        content.withLock { content in
            if size < content.count {
                content.removeLast(content.count - size)
            } else {
                content.append(contentsOf: repeatElement(0, count: size - content.count))
            }
        }
    }

    func tryLock(_ holder: ObjectIdentifier, exclusive: Bool) -> Bool {
        holders.withLock { holders in
            guard holders.exclusive == nil || holders.exclusive == holder else { return false }
            if exclusive {
                guard holders.shared.subtracting([holder]).isEmpty else { return false }
                holders = (holder, [])
            } else {
                holders.exclusive = nil
                holders.shared.insert(holder)
            }
            return true
        }
    }

    func unlock(_ holder: ObjectIdentifier) {
        holders.withLock { holders in
            if holders.exclusive == holder { holders.exclusive = nil }
            holders.shared.remove(holder)
        }
    }
}

private final class MemoryFile: VaultFile {
    let inode: Inode

    init(_ inode: Inode) { self.inode = inode }

    deinit { inode.unlock(ObjectIdentifier(self)) }

    func status() throws(Errno) -> FileStatus { inode.status }

    func read(_ count: Int, at offset: Int) throws(Errno) -> [UInt8] { inode.read(count, at: offset) }

    func write(_ bytes: Span<UInt8>, at offset: Int) throws(Errno) -> Int {
        inode.write(bytes, at: offset)
        return bytes.count
    }

    func truncate(to size: Int) throws(Errno) { inode.truncate(to: size) }

    func reserve(_ count: Int, at offset: Int) throws(Errno) {}

    func synchronizeData() throws(Errno) {}

    func synchronize() throws(Errno) {}

    func tryLock(exclusive: Bool) throws(Errno) -> Bool { inode.tryLock(ObjectIdentifier(self), exclusive: exclusive) }

    func unlock() -> Bool {
        inode.unlock(ObjectIdentifier(self))
        return true
    }
}

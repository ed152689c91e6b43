// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat
import VaultStorage
import VaultSystem

/// Files shared by several simulated processes, each of which accesses them through a ``DiskProcess`` that can be
/// killed. A killed process's writes stay; its locks are released.
///
/// Unchecked, since a simulation has one thread.
final class SharedDisk: @unchecked Sendable {
    final class Node: @unchecked Sendable {
        let number: UInt64
        var bytes: [UInt8]
        /// The processes with a lock on the file, and whether each lock is exclusive.
        var holders: [ObjectIdentifier: Bool] = [:]

        init(_ number: UInt64, _ bytes: [UInt8] = []) { (self.number, self.bytes) = (number, bytes) }
    }

    private(set) var files: [String: Node] = [:]
    private(set) var directories: Set<String> = ["/"]
    private var nextNumber: UInt64 = 1

    func copy() -> SharedDisk {
        let copy = SharedDisk()
        (copy.directories, copy.nextNumber) = (directories, nextNumber)
        for (path, node) in files { copy.files[path] = Node(node.number, node.bytes) }
        return copy
    }

    func makeNode(_ bytes: [UInt8] = []) -> Node {
        nextNumber += 1
        return Node(nextNumber, bytes)
    }

    func node(_ path: String) -> Node? { files[path] }

    func isDirectory(_ path: String) -> Bool { directories.contains(path) }

    func isTaken(_ path: String) -> Bool { files[path] != nil || directories.contains(path) }

    func set(_ path: String, _ node: Node?) { files[path] = node }

    func makeDirectory(_ path: String) { directories.insert(path) }

    func names(in directory: String) -> [String] {
        let prefix = directory == "/" ? "/" : directory + "/"
        return (Array(files.keys) + directories).filter { $0.hasPrefix(prefix) && $0.utf8.count > prefix.utf8.count }
            .map { $0.dropFirst(prefix.count) }.filter { !$0.contains("/") }.map(String.init).sorted()
    }

    // MARK: Changes to directories

    /// Returns the files below a directory.
    func content(below directory: String) -> [String: [UInt8]] {
        files.filter { $0.key.hasPrefix(directory + "/") }.mapValues(\.bytes)
    }

    func replaceContent(below directory: String, with content: [String: [UInt8]]) {
        for path in files.keys where path.hasPrefix(directory + "/") && content[path] == nil { files[path] = nil }
        for (path, bytes) in content where files[path]?.bytes != bytes { files[path] = makeNode(bytes) }
    }
}

/// Deferred work of a process, which the simulation runs on request.
///
/// Unchecked, since a simulation has one thread.
final class LaterWork: Background, @unchecked Sendable {
    private var waiting: [@Sendable () -> Void] = []

    func run(after delay: Duration, _ body: @escaping @Sendable () -> Void) { waiting.append(body) }

    /// Runs the waiting work; work deferred meanwhile keeps waiting.
    func runAll() {
        let bodies = waiting
        waiting = []
        for body in bodies { body() }
    }
}

/// A process's view of the disk.
final class DiskProcess: VaultFileSystem, @unchecked Sendable {
    let disk: SharedDisk
    let later = LaterWork()
    /// Whether the process was killed; a killed process's further operations have no effect.
    private(set) var isDead = false
    /// Called before each operation, with the path of the operation.
    var beforeStep: ((DiskProcess, String) -> Void)?
    /// Called with each file that the process installs.
    var onInstall: ((String, [UInt8]) -> Void)?
    var onRemove: ((String) -> Void)?

    init(_ disk: SharedDisk) { self.disk = disk }

    func kill() { isDead = true }

    func step(_ path: String) throws(Errno) {
        guard !isDead else { throw .ioError }
        beforeStep?(self, path)
        guard !isDead else { throw .ioError }
    }

    func resolve(_ path: FilePath) throws(Errno) -> FilePath { path.lexicallyNormalized() }

    func workingDirectory() throws(Errno) -> FilePath { "/" }

    func createDirectories(_ path: FilePath) throws(Errno) {
        try step(path.string)
        var made = FilePath("/")
        for component in path.components {
            made.append(component)
            disk.makeDirectory(made.string)
        }
    }

    func openDirectory(_ path: FilePath) throws(Errno) -> any VaultDirectory {
        try step(path.string)
        guard disk.isDirectory(path.string) else { throw .noSuchFileOrDirectory }
        return ProcessDirectory(self, path.string)
    }

    let user: UInt32 = 0
    func isPrivateGroup(_ group: UInt32) -> Bool { true }
    let fileSizeLimit = Int.max
    let availableMemory: UInt64? = nil
}

private final class ProcessDirectory: VaultDirectory, @unchecked Sendable {
    // The paths are texts: each operation on a FilePath takes many times as long without optimization.
    private(set) lazy var path = FilePath(text)
    private let text: String
    private let process: DiskProcess
    private var disk: SharedDisk { process.disk }

    init(_ process: DiskProcess, _ text: String) { (self.process, self.text) = (process, text) }

    private func full(_ name: String) -> String { text == "/" ? "/" + name : text + "/" + name }

    private static let status = FileStatus(
        kind: .directory, device: 1, inode: 1, size: 0, owner: 0, group: 0, mode: 0o700, links: 1)

    func status() throws(Errno) -> FileStatus { Self.status }

    func status(of name: String) throws(Errno) -> FileStatus? {
        try process.step(full(name))
        if disk.isDirectory(full(name)) { return Self.status }
        return disk.node(full(name)).map(ProcessFile.status)
    }

    func open(_ name: String, writable: Bool) throws(Errno) -> any VaultFile {
        try process.step(full(name))
        guard let node = disk.node(full(name)) else {
            throw disk.isDirectory(full(name)) ? .isDirectory : .noSuchFileOrDirectory
        }
        return ProcessFile(process, node, full(name))
    }

    func openOrCreate(_ name: String) throws(Errno) -> any VaultFile {
        try process.step(full(name))
        if disk.node(full(name)) == nil { disk.set(full(name), disk.makeNode()) }
        return try open(name, writable: true)
    }

    func createTemporary(_ name: String) throws(Errno) -> any VaultFile {
        try process.step(full(name))
        return ProcessFile(process, disk.makeNode(), full(name))
    }

    func install(_ file: any VaultFile, temporaryName: String, as name: String, replacing: Bool) throws(Errno) {
        guard let file = file as? ProcessFile else { throw .invalidArgument }
        try process.step(full(name))
        guard !disk.isTaken(full(name)) || replacing && !disk.isDirectory(full(name)) else { throw .fileExists }
        disk.set(full(name), file.node)
        process.onInstall?(full(name), file.node.bytes)
    }

    func remove(_ name: String) throws(Errno) {
        try process.step(full(name))
        guard disk.node(full(name)) != nil else { throw .noSuchFileOrDirectory }
        disk.set(full(name), nil)
        process.onRemove?(full(name))
    }

    func forEachName(_ body: (String) throws(Errno) -> Void) throws(Errno) {
        try process.step(path.string)
        for name in disk.names(in: text) { try body(name) }
    }

    func directory(_ name: String) throws(Errno) -> any VaultDirectory {
        try process.step(full(name))
        guard disk.isDirectory(full(name)) else { throw .noSuchFileOrDirectory }
        return ProcessDirectory(process, full(name))
    }

    func createDirectory(_ name: String) throws(Errno) {
        try process.step(full(name))
        guard !disk.isTaken(full(name)) else { throw .fileExists }
        disk.makeDirectory(full(name))
    }

    func synchronize() throws(Errno) {}

    var weakFileSystem: String? { nil }
}

private final class ProcessFile: VaultFile, @unchecked Sendable {
    let node: SharedDisk.Node
    private let process: DiskProcess
    private let path: String

    init(_ process: DiskProcess, _ node: SharedDisk.Node, _ path: String) {
        (self.process, self.node, self.path) = (process, node, path)
    }

    deinit { node.holders[ObjectIdentifier(self)] = nil }

    static func status(_ node: SharedDisk.Node) -> FileStatus {
        FileStatus(
            kind: .regular, device: 1, inode: node.number, size: node.bytes.count, owner: 0, group: 0, mode: 0o600,
            links: 1)
    }

    func status() throws(Errno) -> FileStatus { Self.status(node) }

    func read(_ count: Int, at offset: Int) throws(Errno) -> [UInt8] {
        try process.step(path)
        guard offset < node.bytes.count else { return [] }
        return Array(node.bytes[offset..<min(node.bytes.count, offset + count)])
    }

    func write(_ bytes: Span<UInt8>, at offset: Int) throws(Errno) -> Int {
        try process.step(path)
        if bytes.count > 0 { node.bytes.copy(bytes, to: offset) }
        return bytes.count
    }

    func truncate(to size: Int) throws(Errno) {
        try process.step(path)
        if size < node.bytes.count {
            node.bytes.removeLast(node.bytes.count - size)
        } else {
            node.bytes.grow(to: size)
        }
    }

    func reserve(_ count: Int, at offset: Int) throws(Errno) { try process.step(path) }

    func synchronizeData() throws(Errno) { try process.step(path) }

    func synchronize() throws(Errno) { try process.step(path) }

    func tryLock(exclusive: Bool) throws(Errno) -> Bool {
        try process.step(path)
        let others = node.holders.filter { $0.key != ObjectIdentifier(self) }
        guard exclusive ? others.isEmpty : !others.values.contains(true) else { return false }
        node.holders[ObjectIdentifier(self)] = exclusive
        return true
    }

    func unlock() -> Bool {
        node.holders[ObjectIdentifier(self)] = nil
        return true
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import VaultFormat
internal import VaultStorage
internal import VaultSystem

final class SimulatedDirectory: VaultDirectory {
    let path: FilePath
    private let disk: SimulatedDisk
    /// The prefix of the directory's names on the disk; empty at the top level, to which every opened path leads.
    private let prefix: String

    init(_ disk: SimulatedDisk, _ path: FilePath, prefix: String = "") {
        self.disk = disk
        self.path = path
        self.prefix = prefix
    }

    func status() throws(Errno) -> FileStatus {
        FileStatus(kind: .directory, device: 1, inode: 0, size: 0, owner: 1000, group: 1000, mode: 0o700, links: 2)
    }

    func status(of name: String) throws(Errno) -> FileStatus? { inode(name).map(SimulatedFile.status) }

    func open(_ name: String, writable: Bool) throws(Errno) -> any VaultFile {
        guard let inode = inode(name) else { throw .noSuchFileOrDirectory }
        guard !inode.isDirectory else { throw .isDirectory }
        return SimulatedFile(disk, inode)
    }

    func openOrCreate(_ name: String) throws(Errno) -> any VaultFile {
        if inode(name) != nil { return try open(name, writable: true) }
        try disk.pass(.create)
        let inode = disk.state.withLock { state in
            let inode = state.makeInode()
            state.names[prefix + name] = inode
            state.durableNames[prefix + name] = inode
            return inode
        }
        return SimulatedFile(disk, inode)
    }

    func createTemporary(_ name: String) throws(Errno) -> any VaultFile {
        try disk.pass(.create)
        let inode = disk.state.withLock { state in
            let inode = state.makeInode()
            if disk.namesTemporaries { state.names[prefix + name] = inode }
            return inode
        }
        return SimulatedFile(disk, inode)
    }

    func install(_ file: any VaultFile, temporaryName: String, as name: String, replacing: Bool) throws(Errno) {
        guard let inode = (file as? SimulatedFile)?.inode else { throw .invalidArgument }
        if !replacing, self.inode(name) != nil { throw .fileExists }
        try disk.pass(.install)
        let isPlaced = disk.state.withLock { state in
            guard replacing || state.names[prefix + name] == nil else { return false }
            if disk.namesTemporaries { state.names[prefix + temporaryName] = nil }
            state.names[prefix + name] = inode
            return true
        }
        guard isPlaced else { throw .fileExists }
    }

    func remove(_ name: String) throws(Errno) {
        // A dead process cleans up nothing.
        guard !disk.isDead else { throw .ioError }
        guard inode(name)?.isDirectory != true else { throw .isDirectory }
        guard disk.state.withLock({ $0.names.removeValue(forKey: prefix + name) }) != nil else {
            throw .noSuchFileOrDirectory
        }
    }

    func forEachName(_ body: (String) throws(Errno) -> Void) throws(Errno) {
        let names = disk.state.withLock { $0.names.keys.filter(isMember) }
        for name in names { try body(String(name.dropFirst(prefix.count))) }
    }

    func directory(_ name: String) throws(Errno) -> any VaultDirectory {
        guard let inode = inode(name) else { throw .noSuchFileOrDirectory }
        guard inode.isDirectory else { throw .notDirectory }
        return SimulatedDirectory(disk, path.appending(name), prefix: "\(prefix)\(name)/")
    }

    func createDirectory(_ name: String) throws(Errno) {
        try disk.pass(.create)
        let isMade = disk.state.withLock { state in
            guard state.names[prefix + name] == nil else { return false }
            state.names[prefix + name] = state.makeInode(isDirectory: true)
            return true
        }
        guard isMade else { throw .fileExists }
    }

    func synchronize() throws(Errno) {
        try disk.pass(.directorySync)
        guard !disk.lies(about: .directorySync) else { return }
        disk.state.withLock { state in
            for name in state.durableNames.keys where isMember(name) { state.durableNames[name] = nil }
            for (name, inode) in state.names where isMember(name) { state.durableNames[name] = inode }
        }
    }

    private func inode(_ name: String) -> SimulatedDisk.Inode? { disk.inode(prefix + name) }

    /// Whether a name on the disk belongs to this directory.
    private func isMember(_ name: String) -> Bool {
        name.hasPrefix(prefix) && !name.utf8.dropFirst(prefix.utf8.count).contains(UInt8(ascii: "/"))
    }

    let weakFileSystem: String? = nil
}

final class SimulatedFile: VaultFile {
    let inode: SimulatedDisk.Inode
    private let disk: SimulatedDisk
    private let random = SeededRandom("torn writes")

    init(_ disk: SimulatedDisk, _ inode: SimulatedDisk.Inode) {
        self.disk = disk
        self.inode = inode
    }

    deinit { _ = unlock() }

    static func status(_ inode: SimulatedDisk.Inode) -> FileStatus {
        FileStatus(
            kind: inode.isDirectory ? .directory : .regular, device: 1, inode: inode.number, size: inode.bytes.count,
            owner: 1000, group: 1000, mode: inode.isDirectory ? 0o700 : 0o600, links: 1)
    }

    func status() throws(Errno) -> FileStatus { Self.status(inode) }

    func read(_ count: Int, at offset: Int) throws(Errno) -> [UInt8] {
        try disk.pass(.read)
        let bytes = inode.state.withLock { state in
            offset < state.cache.count ? Array(state.cache[offset..<min(offset + count, state.cache.count)]) : []
        }
        disk.noteRead(bytes.count)
        return bytes
    }

    func write(_ bytes: Span<UInt8>, at offset: Int) throws(Errno) -> Int {
        let fate = disk.decide(.write)
        var count = bytes.count
        switch fate {
        case .spoils: break
        case .done: if count > 1, disk.tearsWrite(random) { count = random.number(in: 1...count - 1) }
        case .fails(let errno): throw errno
        case .killed: count = random.number(in: 0...count)
        }
        var part = bytes.array(0..<count)
        if case .spoils = fate { part[count - 1] ^= 1 }
        inode.state.withLock { $0.write(part.span, at: offset) }
        if case .killed = fate { throw .ioError }
        return count
    }

    func truncate(to size: Int) throws(Errno) {
        try disk.pass(.truncate)
        inode.state.withLock { $0.truncate(to: size) }
    }

    func reserve(_ count: Int, at offset: Int) throws(Errno) { try disk.pass(.reserve) }

    func synchronizeData() throws(Errno) { try synchronize(.dataSync) }

    func synchronize() throws(Errno) { try synchronize(.fileSync) }

    private func synchronize(_ step: SimulatedDisk.Step) throws(Errno) {
        switch disk.decide(step) {
        case .done, .spoils: if !disk.lies(about: step) { inode.state.withLock { $0.synchronize() } }
        case .fails(let errno):
            disk.lose(inode, random)
            throw errno
        case .killed: throw .ioError
        }
    }

    func tryLock(exclusive: Bool) throws(Errno) -> Bool {
        try disk.pass(.lock)
        let own = ObjectIdentifier(self)
        return inode.state.withLock { state in
            let others = state.holders.filter { $0.key != own }
            guard others.isEmpty || !exclusive && !others.values.contains(true) else { return false }
            state.holders[own] = exclusive
            return true
        }
    }

    func unlock() -> Bool {
        inode.state.withLock { _ = $0.holders.removeValue(forKey: ObjectIdentifier(self)) }
        return true
    }
}

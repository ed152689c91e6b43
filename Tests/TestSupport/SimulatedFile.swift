// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import VaultStorage

final class SimulatedDirectory: VaultDirectory {
    let path: FilePath
    private let disk: SimulatedDisk

    init(_ disk: SimulatedDisk, _ path: FilePath) {
        self.disk = disk
        self.path = path
    }

    func status() throws(Errno) -> FileStatus {
        FileStatus(kind: .directory, device: 1, inode: 0, size: 0, owner: 1000, group: 1000, mode: 0o700, links: 2)
    }

    func status(of name: String) throws(Errno) -> FileStatus? { disk.inode(name).map(SimulatedFile.status) }

    func open(_ name: String, writable: Bool) throws(Errno) -> any VaultFile {
        guard let inode = disk.inode(name) else { throw .noSuchFileOrDirectory }
        return SimulatedFile(disk, inode)
    }

    func openOrCreate(_ name: String) throws(Errno) -> any VaultFile {
        if let inode = disk.inode(name) { return SimulatedFile(disk, inode) }
        try disk.pass(.create)
        let inode = disk.state.withLock { state in
            let inode = SimulatedDisk.Inode(state.nextInode)
            state.nextInode += 1
            state.names[name] = inode
            state.durableNames[name] = inode
            return inode
        }
        return SimulatedFile(disk, inode)
    }

    func createTemporary(_ name: String) throws(Errno) -> any VaultFile {
        try disk.pass(.create)
        let inode = disk.state.withLock { state in
            let inode = SimulatedDisk.Inode(state.nextInode)
            state.nextInode += 1
            return inode
        }
        return SimulatedFile(disk, inode)
    }

    func install(_ file: any VaultFile, temporaryName: String, as name: String, replacing: Bool) throws(Errno) {
        guard let inode = (file as? SimulatedFile)?.inode else { throw .invalidArgument }
        if !replacing, disk.inode(name) != nil { throw .fileExists }
        try disk.pass(.install)
        disk.state.withLock { $0.names[name] = inode }
    }

    func remove(_ name: String) throws(Errno) {
        guard disk.state.withLock({ $0.names.removeValue(forKey: name) }) != nil else { throw .noSuchFileOrDirectory }
    }

    func names() throws(Errno) -> [String] { disk.state.withLock { Array($0.names.keys) } }

    func synchronize() throws(Errno) {
        try disk.pass(.directorySync)
        guard !disk.lies(about: .directorySync) else { return }
        disk.state.withLock { $0.durableNames = $0.names }
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
            kind: .regular, device: 1, inode: inode.number, size: inode.bytes.count, owner: 1000, group: 1000,
            mode: 0o600, links: 1)
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
        case .done: if count > 1, disk.tearsWrite(random) { count = random.number(in: 1...count - 1) }
        case .fails(let errno): throw errno
        case .killed: count = random.number(in: 0...count)
        }
        var part: [UInt8] = []
        for index in 0..<count { part.append(bytes[index]) }
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
        case .done: if !disk.lies(about: step) { inode.state.withLock { $0.synchronize() } }
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

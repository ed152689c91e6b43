// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import SystemPackage
internal import VaultSystem

/// The real disk.
package struct LinuxFileSystem: VaultFileSystem {
    package init() {}

    package func resolve(_ path: FilePath) throws(Errno) -> FilePath {
        var current = path
        for _ in 0..<40 {
            guard let target = try readLink(current) else {
                guard let name = current.lastComponent else { return try realPath(current) }
                let parent = current.removingLastComponent()
                return try realPath(parent.isEmpty ? "." : parent).appending(name)
            }
            current = target.isAbsolute ? target : current.removingLastComponent().pushing(target)
        }
        throw .tooManySymbolicLinkLevels
    }

    package func workingDirectory() throws(Errno) -> FilePath {
        guard let path = unsafe getcwd(nil, 0) else { throw Errno(rawValue: errno) }
        defer { unsafe free(path) }
        return unsafe FilePath(platformString: path)
    }

    package func createDirectories(_ path: FilePath) throws(Errno) {
        var made = FilePath()
        made.root = path.root
        for component in path.components {
            made.append(component)
            // The path is a C string for the duration of the call.
            let result = unsafe made.withPlatformString { path in
                // The umask could remove the user's own rights.
                unsafe mkdir(path, 0o700) == 0 ? unsafe chmod(path, 0o700) : -1
            }
            guard result == 0 || errno == EEXIST || errno == EROFS || errno == EACCES && isDirectory(made) else {
                throw Errno(rawValue: errno)
            }
        }
        guard isDirectory(path) else { throw .notDirectory }
    }

    package func openDirectory(_ path: FilePath) throws(Errno) -> any VaultDirectory {
        let descriptor = try Descriptor(opening: path.string, O_RDONLY | O_DIRECTORY)
        return LinuxDirectory(path: path, descriptor: descriptor)
    }

    package var user: UInt32 { geteuid() }

    package func isPrivateGroup(_ group: UInt32) -> Bool {
        // The records are valid until the next call of the same function.
        guard let account = unsafe getpwuid(geteuid()), unsafe account.pointee.pw_gid == group,
            let entry = unsafe getgrgid(group)
        else {
            return false
        }
        guard unsafe strcmp(entry.pointee.gr_name, account.pointee.pw_name) == 0 else { return false }
        return unsafe entry.pointee.gr_mem == nil || entry.pointee.gr_mem.pointee == nil
    }

    package var fileSizeLimit: Int { Int(clamping: clinux_file_size_limit()) }

    package var availableMemory: UInt64? {
        guard let descriptor = try? Descriptor(opening: "/proc/meminfo", O_RDONLY),
            let bytes = try? descriptor.read(4096, at: 0)
        else { return nil }
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where line.hasPrefix("MemAvailable:")
        {
            return line.split(separator: " ").dropFirst().first.flatMap { UInt64($0) }.map { $0 * 1024 }
        }
        return nil
    }

    private func isDirectory(_ path: FilePath) -> Bool {
        (try? Descriptor(opening: path.string, O_RDONLY | O_DIRECTORY)) != nil
    }

    private func realPath(_ path: FilePath) throws(Errno) -> FilePath {
        guard let resolved = unsafe path.withPlatformString({ unsafe realpath($0, nil) }) else {
            throw Errno(rawValue: errno)
        }
        defer { unsafe free(resolved) }
        return unsafe FilePath(platformString: resolved)
    }

    /// Returns `nil` if the path is not a symbolic link or does not exist.
    private func readLink(_ path: FilePath) throws(Errno) -> FilePath? {
        var buffer = [CChar](repeating: 0, count: 4097)
        let length = unsafe path.withPlatformString { path in unsafe readlink(path, &buffer, 4096) }
        guard length >= 0 else {
            if errno == EINVAL || errno == ENOENT { return nil }
            throw Errno(rawValue: errno)
        }
        // The buffer is one byte longer than the link and was zeroed.
        return unsafe buffer.withUnsafeBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe FilePath(platformString: $0) }
        }
    }
}

extension LinuxFileSystem {
    /// A descriptor that becomes readable when a file of a directory changes; `nil` if the system provides none.
    static func watch(_ directory: FilePath) -> Descriptor? {
        try? Descriptor(unsafe clinux_watch_directory(directory.string))
    }
}

extension Descriptor {
    fileprivate func read(_ count: Int, at offset: Int) throws(Errno) -> [UInt8] {
        var failure: Errno?
        // The buffer has `count` bytes, of which those that pread filled count as initialized.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let length = unsafe pread(
                    number, buffer.baseAddress.map { unsafe $0 + filled }, count - filled, off_t(offset + filled))
                if length < 0, errno == EINTR { continue }
                if length < 0 { failure = Errno(rawValue: errno) }
                if length <= 0 { return }
                filled += length
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

/// Runs a wrapper that returns -errno, and retries after a signal.
private func checked(_ call: () -> Int) throws(Errno) -> Int {
    while true {
        let result = call()
        if result >= 0 { return result }
        let error = Errno(rawValue: CInt(-result))
        if error != .interrupted { throw error }
    }
}

/// Runs a function that returns -1 and sets errno, and retries after a signal.
private func succeed(_ call: () -> Int32) throws(Errno) {
    while call() != 0 {
        if errno != EINTR { throw Errno(rawValue: errno) }
    }
}

private final class LinuxDirectory: VaultDirectory {
    let path: FilePath
    private let descriptor: Descriptor

    init(path: FilePath, descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    func status() throws(Errno) -> FileStatus { try FileStatus(of: descriptor) }

    func status(of name: String) throws(Errno) -> FileStatus? {
        do throws(Errno) { return try FileStatus(at: name, in: descriptor.number) } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            return nil
        }
    }

    func open(_ name: String, writable: Bool) throws(Errno) -> any VaultFile {
        let flags = (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK
        return LinuxFile(try Descriptor(opening: name, flags, in: descriptor.number))
    }

    func openOrCreate(_ name: String) throws(Errno) -> any VaultFile {
        let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK
        if let made = try? Descriptor(opening: name, flags | O_CREAT | O_EXCL, mode: 0o600, in: descriptor.number) {
            return LinuxFile(try withMode0600(made))
        }
        return LinuxFile(try Descriptor(opening: name, flags, in: descriptor.number))
    }

    func createTemporary(_ name: String) throws(Errno) -> any VaultFile {
        // An unnamed file leaves nothing behind if the process dies. Not every file system supports it, and naming it
        // uses /proc, which a container may lack.
        if unsafe access("/proc/self/fd", X_OK) == 0,
            let nameless = try? Descriptor(
                opening: ".", unnamedTemporaryFile | O_RDWR, mode: 0o600, in: descriptor.number)
        {
            return LinuxFile(try withMode0600(nameless), isNameless: true)
        }
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
        return LinuxFile(try withMode0600(try Descriptor(opening: name, flags, mode: 0o600, in: descriptor.number)))
    }

    func install(_ file: any VaultFile, temporaryName: String, as name: String, replacing: Bool) throws(Errno) {
        if let file = file as? LinuxFile, file.isNameless {
            let source = "/proc/self/fd/\(file.descriptor.number)"
            let target = replacing ? temporaryName : name
            try succeed { unsafe linkat(AT_FDCWD, source, descriptor.number, target, AT_SYMLINK_FOLLOW) }
            guard replacing else { return }
        }
        if replacing {
            try succeed { unsafe renameat(descriptor.number, temporaryName, descriptor.number, name) }
        } else {
            try renameOrLink(temporaryName, name)
        }
    }

    /// Gives a file a name that is not taken.
    private func renameOrLink(_ old: String, _ new: String) throws(Errno) {
        do throws(Errno) {
            _ = try checked { unsafe clinux_rename_no_replace(descriptor.number, old, new) }
        } catch {
            // NFS, 9P and some FUSE file systems lack a rename that does not replace; all but the last support links.
            guard error == .invalidArgument || error == .noFunction || error == .notSupported else { throw error }
            try succeed { unsafe linkat(descriptor.number, old, descriptor.number, new, 0) }
            try? remove(old)
        }
    }

    func remove(_ name: String) throws(Errno) { try succeed { unsafe unlinkat(descriptor.number, name, 0) } }

    func forEachName(_ body: (String) throws(Errno) -> Void) throws(Errno) {
        let own = try Descriptor(opening: ".", O_RDONLY | O_DIRECTORY, in: descriptor.number)
        // The stream owns the duplicate and closes it.
        let duplicate = fcntl(own.number, F_DUPFD_CLOEXEC, 0)
        guard duplicate >= 0, let stream = unsafe fdopendir(duplicate) else { throw Errno(rawValue: errno) }
        defer { unsafe closedir(stream) }
        while true {
            // At the end of the directory, readdir leaves errno unchanged.
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard errno == 0 else { throw Errno(rawValue: errno) }
                return
            }
            // d_name ends with a zero byte inside the record.
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
                unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { try body(name) }
        }
    }

    func directory(_ name: String) throws(Errno) -> any VaultDirectory {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        return LinuxDirectory(
            path: path.appending(name), descriptor: try Descriptor(opening: name, flags, in: descriptor.number))
    }

    func createDirectory(_ name: String) throws(Errno) {
        try succeed { unsafe mkdirat(descriptor.number, name, 0o700) }
        // The umask could remove the user's own rights. FAT has no modes to set and always grants them.
        guard let made = try status(of: name), made.mode & 0o700 != 0o700 else { return }
        try succeed { unsafe fchmodat(descriptor.number, name, 0o700, AT_SYMLINK_NOFOLLOW) }
    }

    func synchronize() throws(Errno) { try succeed { fsync(descriptor.number) } }

    var weakFileSystem: String? {
        switch clinux_filesystem_type(descriptor.number) {
        case 0x6969: "NFS"
        case 0xFF53_4D42, 0xFE53_4D42, 0x517B: "SMB"
        case 0x6573_5546: "FUSE"
        case 0x0102_1997: "9P"
        case 0x00C3_6400: "Ceph"
        default: nil
        }
    }

    private func withMode0600(_ file: consuming Descriptor) throws(Errno) -> Descriptor {
        let number = file.number
        try succeed { fchmod(number, 0o600) }
        return file
    }

    /// O_TMPFILE, a GNU extension.
    private let unnamedTemporaryFile: Int32 = 0o20_000_000 | O_DIRECTORY
}

private final class LinuxFile: VaultFile {
    let descriptor: Descriptor
    let isNameless: Bool

    init(_ descriptor: consuming Descriptor, isNameless: Bool = false) {
        self.descriptor = descriptor
        self.isNameless = isNameless
    }

    func status() throws(Errno) -> FileStatus { try FileStatus(of: descriptor) }

    func read(_ count: Int, at offset: Int) throws(Errno) -> [UInt8] { try descriptor.read(count, at: offset) }

    func write(_ bytes: Span<UInt8>, at offset: Int) throws(Errno) -> Int {
        while true {
            let length = unsafe bytes.withUnsafeBytes {
                unsafe pwrite(descriptor.number, $0.baseAddress, $0.count, off_t(offset))
            }
            if length > 0 { return length }
            // A device that writes nothing without an error is full.
            if length == 0 { throw .noSpace }
            if errno != EINTR { throw Errno(rawValue: errno) }
        }
    }

    func truncate(to size: Int) throws(Errno) { try succeed { ftruncate(descriptor.number, off_t(size)) } }

    func reserve(_ count: Int, at offset: Int) throws(Errno) {
        _ = try checked { clinux_reserve(descriptor.number, Int64(offset), Int64(count)) }
    }

    func beginWriting(_ count: Int, at offset: Int) {
        clinux_begin_writing(descriptor.number, Int64(offset), Int64(count))
    }

    // A failed sync is never retried as if nothing had happened; only an interruption is.
    func synchronizeData() throws(Errno) { try succeed { fdatasync(descriptor.number) } }

    func synchronize() throws(Errno) { try succeed { fsync(descriptor.number) } }

    func tryLock(exclusive: Bool) throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try checked { clinux_lock(descriptor.number, exclusive ? CLINUX_LOCK_EXCLUSIVE : CLINUX_LOCK_SHARED) }
            return true
        } catch {
            if error == .resourceTemporarilyUnavailable || error == .permissionDenied { return false }
            throw error
        }
    }

    func unlock() -> Bool { clinux_lock(descriptor.number, CLINUX_LOCK_NONE) == 0 }
}

/// The kernel's clocks.
package struct SystemClock: VaultClock {
    package init() {}

    package var now: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return time.secondsSince2001
    }

    package var uptime: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    package func sleep(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        unsafe nanosleep(&time, nil)
    }
}

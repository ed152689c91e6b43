// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultFormat
internal import VaultStorage
internal import VaultSystem

/// The files of an audit log: `VAULT.audit`, to which lines are added, `VAULT.audit.1` to `VAULT.audit.7` with the
/// lines before it, and `VAULT.audit.head`.
struct AuditFiles {
    let directory: FilePath
    let vaultID: [UInt8]

    /// The size in bytes from which a file gets no more lines.
    static let mostBytes = 16 << 20
    /// The number of older files. Before there is one more, the oldest is removed.
    static let mostOlder = 7

    /// - Parameter age: 0 for the file that grows.
    func name(_ age: Int) -> String { hexadecimal(vaultID) + ".audit" + (age == 0 ? "" : ".\(age)") }

    var head: String { hexadecimal(vaultID) + ".audit.head" }

    func path(_ name: String) -> String { directory.appending(name).string }

    private var disk: (any VaultDirectory)? { try? LinuxFileSystem().openDirectory(directory) }

    private func open(_ age: Int, in disk: any VaultDirectory) -> (any VaultFile)? {
        guard (try? disk.status(of: name(age)))?.kind == .regular else { return nil }
        return try? disk.open(name(age), writable: false)
    }

    /// Opens the files, from the oldest lines to the newest. A rotation meanwhile loses no file but the oldest: a file
    /// is opened before the one that it follows, and one that has moved on is met twice.
    func all() -> [any VaultFile] {
        guard let disk else { return [] }
        var (files, known): ([any VaultFile], [FileStatus]) = ([], [])
        for age in 0...AuditFiles.mostOlder {
            guard let file = open(age, in: disk), let status = try? file.status(),
                !known.contains(where: { $0.isSameFile(as: status) })
            else { continue }
            known.append(status)
            files.append(file)
        }
        return files.reversed()
    }

    /// Opens the files whose lines count: without those that a rotation has counted as removed, but whose removal it
    /// was killed before.
    func all(after head: AuditHead?) -> [any VaultFile] {
        let files = all()
        guard let head, head.dropped > 0 else { return files }
        let last = files.lastIndex {
            let tail = try? AuditTail(of: $0)
            return tail?.number == head.dropped && tail?.tag == head.base
        }
        return last.map { Array(files[($0 + 1)...]) } ?? files
    }

    /// The bytes of the head, valid or not; `nil` without a head. Before its first line, a log's head is empty.
    var headBytes: [UInt8]? {
        guard let disk, (try? disk.status(of: head))?.kind == .regular,
            let bytes = try? disk.open(head, writable: false).read(AuditHead.longest + 1, at: 0), !bytes.isEmpty
        else { return nil }
        return bytes
    }

    // MARK: Rotation

    /// A step of a rotation. A crash between any two leaves a log whose lines are all found, in their order.
    enum Step: Equatable {
        /// Notes in the head that the lines up to the end of the oldest file are removed.
        case drop
        case remove(Int)
        case move(Int, to: Int)
    }

    /// Returns the steps that make way for a new file, in their order.
    var rotation: [Step] {
        let present = (1...AuditFiles.mostOlder).filter { (try? FileStatus(at: path(name($0)))) != nil }
        // An earlier rotation may have been killed, and has left a gap.
        let gap = (1...AuditFiles.mostOlder).first { !present.contains($0) }
        let last = gap ?? AuditFiles.mostOlder
        return (gap == nil ? [.drop, .remove(last)] : [])
            + (0..<last).reversed().map { .move($0, to: $0 + 1) }
    }

    /// - Parameter drop: performs `.drop` for the end of the oldest file.
    func perform(_ step: Step, drop: (AuditTail) throws(Errno) -> Void) throws(Errno) {
        switch step {
        case .drop:
            guard let disk, let oldest = open(AuditFiles.mostOlder, in: disk) else { return }
            try drop(try AuditTail(of: oldest))
        case .remove(let age): try Names.removeFile(path(name(age)))
        case .move(let from, let to): try Names.rename(path(name(from)), to: path(name(to)))
        }
    }
}

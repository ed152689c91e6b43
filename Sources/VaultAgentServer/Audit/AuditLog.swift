// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
package import SystemPackage
package import Vault
internal import VaultAgent
internal import VaultFormat
internal import VaultStorage
internal import VaultSystem

/// The log of actions: processes, times and items, but no values. Each entry is one line of JSON, chained by a MAC
/// under a key of the vault.
///
/// `mac = BLAKE2b-256(K_audit, mac of the line before || the line up to its mac)`; before the first line the mac is 32
/// zeros. The next check detects a changed, removed or inserted line, and lines removed from the end: see
/// ``AuditHead``.
package final class AuditLog: Sendable {
    enum Verb: String {
        case unlock, lock, find
        /// A secret was handed out, to be shown or to a command.
        case reveal, use
        case add, set, update, delete
        case `import`, forget
        case sync
        /// A person was asked for the passphrase, and has given it.
        case authenticate
        case stop, refused

        init(_ change: QueriedChange) {
            self =
                switch change {
                case .update: .update
                case .delete: .delete
                }
        }
    }

    private struct State: ~Copyable {
        /// The open log; `nil` before the first unlock.
        var log: Descriptor?
        var vaultID: [UInt8] = []
        var count = 0
        var tag = AuditLog.start
        var seal: AuditSeal?
        var head: (any VaultFile)?
        /// Whether a line states that there is a head.
        var hasHead = false
        /// The entries from before there was a key, and the number of those that were dropped.
        var early: [Entry] = []
        var earlyDropped = 0

        /// -1 without a log.
        var descriptor: Int32 {
            switch log {
            case .some(let log): log.number
            case .none: -1
            }
        }
    }

    /// A line without its MAC.
    package struct Entry: Codable, Sendable {
        package internal(set) var time: String
        package internal(set) var verb: String
        package internal(set) var items: [String]
        package internal(set) var count: Int?
        package internal(set) var error: String?
        package internal(set) var pid: Int32
        package internal(set) var executable: String?
        package internal(set) var unit: String?
        package internal(set) var flatpak: String?
        /// The client that spoke for the process; `nil` if the process was the client.
        package internal(set) var via: Door?
        package internal(set) var n = 0
        /// 2 in a log that has a head.
        package internal(set) var v: Int? = 2

        package struct Door: Codable, Sendable {
            package internal(set) var pid: Int32
            package internal(set) var executable: String?
        }
    }

    private let directory: FilePath
    private let now: @Sendable () -> Date
    private let state = Mutex(State())
    /// The most refusals before the first unlock that are kept.
    private static let mostEarly = 1000

    init(in directory: FilePath, now: @escaping @Sendable () -> Date) {
        self.directory = directory
        self.now = now
    }

    /// Returns the path of a vault's log.
    package static func path(of vaultID: [UInt8], in directory: FilePath) -> FilePath {
        directory.appending(hexadecimal(vaultID) + ".audit")
    }

    /// Renames the log of a vault whose keys have changed, since the old key can no longer seal it.
    ///
    /// - Returns: the new path; `nil` if there was no log.
    package static func setAside(of vaultID: [UInt8], in directory: FilePath, generation: UInt64) -> FilePath? {
        let path = path(of: vaultID, in: directory)
        let aside = FilePath(path.string + ".before-\(generation)")
        // The head was also sealed with the old key.
        let head = directory.appending(AuditHead.name(of: vaultID)).string
        _ = unsafe rename(head, aside.string + ".head")
        return unsafe rename(path.string, aside.string) == 0 ? aside : nil
    }

    // MARK: Writing

    /// Continues the log of an unlocked vault.
    func begin(_ vault: Vault) throws(VaultError) {
        let (vaultID, seal) = (vault.vaultID, try vault.auditSeal())
        let result: Result<Void, VaultError> = state.withLock { state in
            do throws(VaultError) {
                // A rekeyed vault has renamed its old log.
                let isSame = state.vaultID == vaultID && state.seal?.isSame(as: seal) ?? true
                if state.descriptor < 0 || !isSame { try open(&state, vaultID) }
                state.seal = seal
                try goOn(from: vaultID, &state)
                // An entry that a full disk does not take waits for the next unlock.
                while var entry = state.early.first {
                    try append(entry, &state)
                    guard state.early.count == 1, state.earlyDropped > 0 else {
                        state.early.removeFirst()
                        continue
                    }
                    (entry.count, entry.error) = (state.earlyDropped, "more of the same before the first unlock")
                    (state.early, state.earlyDropped) = ([entry], 0)
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    private func open(_ state: inout State, _ vaultID: [UInt8]) throws(VaultError) {
        let path = AuditLog.path(of: vaultID, in: directory)
        try? FileManager.default.createDirectory(
            atPath: directory.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let log: Descriptor
        do throws(Errno) {
            log = try Descriptor(opening: path.string, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o600)
        } catch { throw .storage(.inputOutput(error, .open)) }
        // Two writers would continue from the same line.
        guard clinux_lock(log.number, CLINUX_LOCK_EXCLUSIVE) == 0 else { throw .storage(.busy) }
        let descriptor = log.number
        state.log = consume log
        state.head = nil
        state.vaultID = vaultID
        let extent: AuditExtent
        do throws(Errno) { extent = try AuditExtent(of: descriptor) } catch {
            throw .storage(.inputOutput(error, .read))
        }
        // A partial line at the end, from a full disk or a crash, is removed.
        if extent.whole < extent.size, ftruncate(descriptor, extent.whole) != 0 {
            throw .storage(.inputOutput(Errno(rawValue: errno), .truncate))
        }
        // The chain continues from the existing lines, valid or not: a check reports the first invalid one.
        (state.count, state.hasHead, state.tag) = (extent.count, extent.hasHead, extent.tag ?? AuditLog.start)
    }

    static let start = [UInt8](repeating: 0, count: 32)

    /// Continues at the end according to the head: if lines are missing, every later check finds the gap.
    private func goOn(from vaultID: [UInt8], _ state: inout State) throws(VaultError) {
        guard let seal = state.seal, state.head == nil else { return }
        let found = AuditHead.bytes(of: vaultID, in: directory)
        if let head = found.flatMap({ AuditHead($0, seal) }) {
            if head.count > state.count { (state.count, state.tag) = (head.count, head.tag) }
        } else if found != nil || state.hasHead {
            // The head is missing, or was forged: the gap in the numbers shows this from now on.
            state.count += 1
        }
        do throws(Errno) { state.head = try AuditHead.open(of: vaultID, in: directory) } catch {
            throw .storage(.inputOutput(error, .open))
        }
    }

    /// - Throws: an error if the entry cannot be written: nothing is handed out without an entry.
    func note(_ verb: Verb, by caller: Caller) throws(VaultError) { try append(entry(verb, [], caller)) }

    func note(_ verb: Verb, _ items: [Item], by caller: Caller) throws(VaultError) {
        // A listing may be long, so only its count is recorded. Items whose secrets were handed out are recorded one by
        // one.
        guard verb != .find else { return try append(entry(verb, [], caller, count: items.count)) }
        try note(verb, items.compactMap { $0.record?.id }, by: caller)
    }

    func note(_ verb: Verb, _ ids: [UUID], by caller: Caller) throws(VaultError) {
        try append(entry(verb, ids.map { $0.uuidString.lowercased() }, caller))
    }

    func note(_ verb: Verb, _ id: [UInt8], by caller: Caller) throws(VaultError) {
        try note(verb, [UUID(bytes: id)], by: caller)
    }

    /// Records an action on this number of items.
    func note(_ verb: Verb, count: Int, by caller: Caller) throws(VaultError) {
        try append(entry(verb, [], caller, count: count))
    }

    /// Records a refusal. A refusal hands nothing out, so it holds even if the entry cannot be written.
    func noteRefusal(of caller: Caller, _ error: VaultError, _ reason: String = "policy") {
        guard error == .agent(.refused) || error == .storage(.wrongPassphrase) else { return }
        var entry = entry(.refused, [], caller)
        entry.error = error == .agent(.refused) ? reason : error.text
        try? append(entry)
    }

    /// Records the reason why a client received no ticket.
    func noteUnattended(_ caller: Caller, _ error: VaultError) {
        var entry = entry(.refused, [], caller)
        entry.error =
            switch error {
            case .presenceRequired, .agent(.unanswered), .storage(.wrongPassphrase): error.text
            case .cancelled: "the person refused"
            default: "not authenticated"
            }
        try? append(entry)
    }

    private func entry(_ verb: Verb, _ items: [String], _ caller: Caller, count: Int? = nil) -> Entry {
        Entry(
            time: now().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)), verb: verb.rawValue,
            items: items,
            count: count,
            pid: caller.process.id,
            executable: caller.process.program, unit: caller.process.unit, flatpak: caller.process.flatpak,
            via: caller.door.map { Entry.Door(pid: $0.id, executable: $0.program) })
    }

    private func append(_ entry: Entry) throws(VaultError) {
        let result: Result<Void, VaultError> = state.withLock { state in
            guard state.seal != nil else {
                if state.early.count < AuditLog.mostEarly { state.early.append(entry) } else { state.earlyDropped += 1 }
                return .success(())
            }
            do throws(VaultError) { return .success(try append(entry, &state)) } catch { return .failure(error) }
        }
        try result.get()
    }

    private func append(_ entry: Entry, _ state: inout State) throws(VaultError) {
        guard let seal = state.seal else { return }
        var entry = entry
        entry.n = state.count + 1
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard var line = try? Array(encoder.encode(entry)) else {
            throw .storage(.inputOutput(.invalidArgument, .write))
        }
        line.removeLast()
        let tag = seal.tag(of: line, after: state.tag)
        line += Array(",\"mac\":\"\(hexadecimal(tag))\"}\n".utf8)
        let size = lseek(state.descriptor, 0, SEEK_END)
        let written = unsafe line.withUnsafeBytes { unsafe write(state.descriptor, $0.baseAddress, $0.count) }
        guard written == line.count else {
            let reason = Errno(rawValue: written < 0 ? errno : ENOSPC)
            // A partial line would damage the next one.
            if size >= 0, written > 0 { _ = ftruncate(state.descriptor, size) }
            throw .storage(.inputOutput(reason, .write))
        }
        state.count += 1
        state.tag = tag
        let head = AuditHead(count: state.count, tag: tag).sealed(seal)
        do throws(Errno) { _ = try state.head?.write(head.span, at: 0) } catch {
            throw .storage(.inputOutput(error, .write))
        }
    }

    // MARK: Checking

    /// A line of the file.
    struct Line {
        var number: Int
        var hasHead = false
        /// The text up to the MAC.
        var text: [UInt8]
        var tag: [UInt8]
    }

    /// Returns whether the vault has a log, or had one.
    package static func exists(of vaultID: [UInt8], in directory: FilePath) -> Bool {
        AuditHead.bytes(of: vaultID, in: directory) != nil
            || FileManager.default.fileExists(atPath: path(of: vaultID, in: directory).string)
    }

    /// - Returns: the number of lines, and the number of the first altered one; if lines are missing at the end, the
    ///   number of the first missing one.
    package static func check(with vault: Vault, in directory: FilePath) throws(VaultError) -> (
        entries: Int, firstChanged: Int?
    ) {
        let seal = try vault.auditSeal()
        // Read before the lines, which only increase.
        let head = AuditHead.bytes(of: vault.vaultID, in: directory)
        let lines = lines(at: path(of: vault.vaultID, in: directory))
        var tag = start
        for (index, line) in lines.enumerated() {
            guard line.number == index + 1, seal.tag(of: line.text, after: tag) == line.tag else {
                return (lines.count, index + 1)
            }
            tag = line.tag
        }
        guard let head else { return (lines.count, lines.contains { $0.hasHead } ? lines.count + 1 : nil) }
        // A forged head proves no length, but proves the manipulation.
        guard let known = AuditHead(head, seal) else { return (lines.count, lines.count + 1) }
        guard known.count > 0 else { return (lines.count, nil) }
        guard known.count <= lines.count, lines[known.count - 1].tag == known.tag else {
            return (lines.count, lines.count + 1)
        }
        return (lines.count, nil)
    }

    /// Returns the lines of a log. A malformed line has the number 0, which no written line has.
    static func lines(at path: FilePath) -> [Line] {
        guard let content = FileManager.default.contents(atPath: path.string) else { return [] }
        return content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().map { line in
            let line = Array(line)
            guard line.count > AuditExtent.tailLength, let tag = AuditExtent.tag(atEndOf: line),
                let entry = try? JSONDecoder().decode(Entry.self, from: Data(line))
            else { return Line(number: 0, text: [], tag: []) }
            return Line(
                number: entry.n, hasHead: entry.v != nil, text: line.dropLast(AuditExtent.tailLength), tag: tag)
        }
    }
}

extension UUID {
    /// - Parameter b: the 16 bytes.
    init(bytes b: [UInt8]) {
        self.init(
            uuid: (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15])
        )
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization
package import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultStorage
internal import VaultSystem

/// The log of actions: processes, times and items, but no values. Each entry is one line of JSON, chained by a MAC
/// under a key of the vault.
///
/// `mac = BLAKE2b-256(K_audit, mac of the line before || the line up to its mac)`; before the first line the mac is 32
/// zeros. The next check detects a changed, removed or inserted line, and lines removed from the end: see
/// ``AuditHead``. A file that has grown long is renamed, and the chain continues in a new one: see ``AuditFiles``.
package final class AuditLog: Sendable {
    private struct State {
        var vaultID: [UInt8] = []
        var seal: AuditSeal?
        /// The file that grows; `nil` before the first unlock, and after a rotation that failed.
        var log: (any VaultFile)?
        /// Locked for as long as it is open: two writers would continue from the same line.
        var head: (any VaultFile)?
        /// The values of the head.
        var end = AuditHead(count: 0, tag: AuditLog.start)
        var refusals = RepeatedRefusals()
        /// The entries from before there was a key, or for which there was no room, and the number of those that were
        /// dropped.
        var waiting: [Entry] = []
        var dropped = 0
    }

    private let directory: FilePath
    private let mostBytes: Int
    private let now: @Sendable () -> Date
    private let state = Mutex(State())
    /// The most entries that wait.
    private static let mostWaiting = 1000

    /// - Parameter mostBytes: the size of a file, in bytes, from which the next line goes into a new one.
    init(in directory: FilePath, mostBytes: Int = AuditFiles.mostBytes, now: @escaping @Sendable () -> Date) {
        (self.directory, self.mostBytes, self.now) = (directory, mostBytes, now)
    }

    static let start = [UInt8](repeating: 0, count: 32)

    /// Renames the log of a vault whose keys have changed, since the old key can no longer seal it.
    ///
    /// - Returns: the new path; `nil` if there was no log.
    package static func setAside(of vaultID: [UInt8], in directory: FilePath, generation: UInt64) -> FilePath? {
        let files = AuditFiles(directory: directory, vaultID: vaultID)
        let aside = files.path(files.name(0)) + ".before-\(generation)"
        // The head was also sealed with the old key.
        try? Names.rename(files.path(files.head), to: aside + ".head")
        for age in 1...AuditFiles.mostOlder { try? Names.rename(files.path(files.name(age)), to: aside + ".\(age)") }
        do throws(Errno) { try Names.rename(files.path(files.name(0)), to: aside) } catch { return nil }
        return FilePath(aside)
    }

    // MARK: Opening

    /// Continues the log of an unlocked vault.
    func begin(_ vault: Vault) throws(VaultError) {
        let (vaultID, seal) = (vault.vaultID, try vault.auditSeal())
        try locked { state throws(VaultError) in
            // A rekeyed vault has renamed its old log.
            let isSame = state.vaultID == vaultID && state.seal?.isSame(as: seal) ?? true
            if !isSame { (state.log, state.head) = (nil, nil) }
            (state.vaultID, state.seal) = (vaultID, seal)
            try writeWaiting(&state)
            try open(&state)
        }
    }

    /// Opens the files, unless they are open, and continues at the end according to the head: if lines are missing,
    /// every later check finds the gap.
    private func open(_ state: inout State) throws(VaultError) {
        guard let seal = state.seal, state.log == nil else { return }
        state.head = nil
        let files = AuditFiles(directory: directory, vaultID: state.vaultID)
        do throws(Errno) {
            let disk = LinuxFileSystem()
            try disk.createDirectories(directory)
            let directory = try disk.openDirectory(directory)
            guard let head = try AuditLog.lock(files.head, in: directory),
                // An agent of an earlier version locks only the log.
                let log = try AuditLog.lock(files.name(0), in: directory)
            else { throw .resourceBusy }
            var tail = try AuditTail(of: log)
            // A partial line at the end, from a full disk or a crash, is removed.
            if tail.whole < tail.size { try log.truncate(to: tail.whole) }
            if tail.line == nil, let older = files.all().last(where: { (try? AuditTail(of: $0))?.line != nil }) {
                tail = try AuditTail(of: older)
            }
            // The chain continues from the existing lines, valid or not: a check reports the first invalid one.
            state.end = AuditHead(count: tail.number, tag: tail.tag ?? AuditLog.start)
            let found = try head.read(AuditHead.longest + 1, at: 0)
            if let known = AuditHead(found, seal) {
                (state.end.dropped, state.end.base) = (known.dropped, known.base)
                if known.count > tail.number { state.end = known }
            } else if !found.isEmpty || tail.line?.hasHead == true {
                // The head is missing, or was forged: the gap in the numbers shows this from now on.
                state.end.count += 1
            }
            (state.head, state.log) = (head, log)
        } catch { throw .storage(.inputOutput(error, .log)) }
    }

    /// Opens a file and locks it; `nil` if another process has.
    private static func lock(_ name: String, in directory: any VaultDirectory) throws(Errno) -> (any VaultFile)? {
        while true {
            let file = try directory.openOrCreate(name)
            let status = try file.status()
            guard status.kind == .regular else { throw .invalidArgument }
            guard try file.tryLock(exclusive: true) else { return nil }
            // Another process may have renamed the file before the lock.
            if try directory.status(of: name)?.isSameFile(as: status) == true { return file }
        }
    }

    // MARK: Writing

    private func locked<R: Sendable>(_ body: (inout State) throws(VaultError) -> R) throws(VaultError) -> R {
        try state.withLock { state in
            Result { () throws(VaultError) in try body(&state) }
        }.get()
    }

    /// - Throws: an error if the entry cannot be written: nothing is handed out without an entry.
    func note(_ verb: Verb, by caller: Caller) throws(VaultError) { try append(Entry(verb, by: caller, at: now())) }

    func note(_ verb: Verb, _ items: [Item], by caller: Caller) throws(VaultError) {
        // A listing may be long, so only its count is recorded. Items whose secrets were handed out are recorded one by
        // one.
        guard verb != .find else { return try note(verb, count: items.count, by: caller) }
        try note(verb, items.compactMap { $0.record?.id }, by: caller)
    }

    func note(_ verb: Verb, _ ids: [UUID], by caller: Caller) throws(VaultError) {
        var rest = ids.map { $0.uuidString.lowercased() }[...]
        repeat {
            try append(Entry(verb, Array(rest.prefix(Entry.mostItems)), by: caller, at: now()))
            rest = rest.dropFirst(Entry.mostItems)
        } while !rest.isEmpty
    }

    func note(_ verb: Verb, _ id: [UInt8], by caller: Caller) throws(VaultError) {
        try note(verb, [UUID(bytes: id)], by: caller)
    }

    /// Records an action on this number of items.
    func note(_ verb: Verb, count: Int, by caller: Caller) throws(VaultError) {
        try append(Entry(verb, count: count, by: caller, at: now()))
    }

    /// Records an action that hands nothing out, and holds even if the entry cannot be written; the entry waits then.
    func noteDone(_ verb: Verb, count: Int? = nil, by caller: Caller) {
        let entry = Entry(verb, count: count, by: caller, at: now())
        state.withLock { writeOrKeep(entry, &$0) }
    }

    /// Counts a refusal, which holds even if the entry cannot be written.
    func noteRefusal(of caller: Caller, _ error: VaultError, _ reason: String = "policy") {
        guard error == .agent(.refused) || error == .storage(.wrongPassphrase) else { return }
        noteRefusal(of: caller, because: error == .agent(.refused) ? reason : error.text)
    }

    /// Records the reason why a client received no ticket.
    func noteUnattended(_ caller: Caller, _ error: VaultError) {
        let reason =
            switch error {
            case .presenceRequired, .agent(.unanswered), .storage(.wrongPassphrase): error.text
            case .cancelled: "the person refused"
            default: "not authenticated"
            }
        noteRefusal(of: caller, because: reason)
    }

    private func noteRefusal(of caller: Caller, because reason: String) {
        let key = RepeatedRefusals.Key(process: caller.process.id, door: caller.door?.id, reason: reason)
        let now = now()
        state.withLock { state in
            for entry in state.refusals.due(at: now) { writeOrKeep(entry, &state) }
            let first = state.refusals.note(key, at: now) { Entry(.refused, error: reason, by: caller, at: now) }
            if let first { writeOrKeep(first, &state) }
        }
    }

    /// Writes what waits, and the numbers of refusals whose minute is over.
    ///
    /// - Parameter all: whether to end every minute now.
    func flush(all: Bool = false) {
        let now = now()
        state.withLock { state in
            for entry in state.refusals.due(at: now, all: all) { writeOrKeep(entry, &state) }
            try? writeWaiting(&state)
        }
    }

    private func append(_ entry: Entry) throws(VaultError) {
        try locked { state throws(VaultError) in
            guard state.seal != nil else { return keep(entry, &state) }
            try write(entry, &state)
        }
    }

    private func writeOrKeep(_ entry: Entry, _ state: inout State) {
        do throws(VaultError) {
            guard state.seal != nil else { return keep(entry, &state) }
            try write(entry, &state)
        } catch { keep(entry, &state) }
    }

    private func keep(_ entry: Entry, _ state: inout State) {
        if state.waiting.count < AuditLog.mostWaiting { state.waiting.append(entry) } else { state.dropped += 1 }
    }

    private func writeWaiting(_ state: inout State) throws(VaultError) {
        guard state.seal != nil else { return }
        while var entry = state.waiting.first {
            try write(entry, &state)
            guard state.waiting.count == 1, state.dropped > 0 else {
                state.waiting.removeFirst()
                continue
            }
            (entry.count, entry.error) = (state.dropped, "more that had to wait and were dropped")
            (state.waiting, state.dropped) = ([entry], 0)
        }
    }

    private func write(_ entry: Entry, _ state: inout State) throws(VaultError) {
        try open(&state)
        guard let seal = state.seal, var log = state.log, let head = state.head else { return }
        guard var line = entry.line(state.end.count + 1) else { throw .storage(.inputOutput(.invalidArgument, .log)) }
        do throws(Errno) {
            var size = try log.status().size
            if size >= mostBytes {
                log = try rotate(&state, seal, head)
                size = 0
            }
            let tag = seal.tag(of: line, after: state.end.tag)
            line += AuditLine.end(tag)
            do throws(Errno) {
                guard try log.write(line.span, at: size) == line.count else { throw .noSpace }
            } catch {
                // A partial line would damage the next one.
                try? log.truncate(to: size)
                throw error
            }
            (state.end.count, state.end.tag) = (state.end.count + 1, tag)
            _ = try head.write(state.end.sealed(seal).span, at: 0)
        } catch { throw .storage(.inputOutput(error, .log)) }
    }

    /// Renames the file that has grown, and begins a new one. After an error, the next line opens the files anew.
    private func rotate(_ state: inout State, _ seal: AuditSeal, _ head: any VaultFile) throws(Errno) -> any VaultFile {
        let files = AuditFiles(directory: directory, vaultID: state.vaultID)
        state.log = nil
        for step in files.rotation {
            try files.perform(step) { tail throws(Errno) in
                // After a malformed line the chain has no base: a check reports what follows, as before.
                if let tag = tail.tag { (state.end.dropped, state.end.base) = (tail.number, tag) }
                _ = try head.write(state.end.sealed(seal).span, at: 0)
            }
        }
        guard let log = try AuditLog.lock(files.name(0), in: LinuxFileSystem().openDirectory(directory)) else {
            throw .resourceBusy
        }
        state.log = log
        return log
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

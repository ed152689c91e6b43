// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultFormat
internal import VaultSync

struct Sync: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Exchange changes with the other devices of the fleet.",
        discussion: """
            Syncs with every remote in turn. Faults that the sync repairs are warnings; any other fault ends the \
            command, after everything else was synced, with 20 (altered or forged), 22 (withheld, rolled back or \
            diverged) or 23 (forked). 24: this device was removed. 30: a remote is unreachable. A device that has the \
            true version of an altered record restores that version; any other device removes the altered record from \
            the folder, and the next sync of a device that has the true version restores it. A false record behind the \
            end of the list of devices blocks changes of the list until the user deletes its file: \
            vlt1/REALM/0/REALM/NUMBER, in hexadecimal, with the sequence that --json shows.
            An unlocked agent performs the sync, without asking for a passphrase. An agent that was locked again \
            fetches and checks the changes of the other devices; they become items when the agent is unlocked.
            An unlocked agent also syncs in the background, soon after a change here or elsewhere, and every 30 \
            seconds with a folder, every minute with a server; 'vault status' shows the state. --watch does the same \
            without an agent, until it is interrupted, and prints a line for each sync that moved changes. An \
            unreachable remote is tried again after at most 10 minutes.
            The last line shows the number of conflicts, if there are any: 'vault conflicts' lists them. Conflicts are \
            not failures.
            --fingerprint prints a fingerprint of what the devices of a fleet have in common after a sync, for users \
            to compare: only this comparison reveals a remote that shows two halves of a fleet different records.
            """)

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Print a fingerprint to compare with other devices, once all are synced.")
    var fingerprint = false

    @Flag(help: "Sync after each change, here or elsewhere, until interrupted.")
    var watch = false

    @Flag(help: "Print JSON; with --watch, one object per line.")
    var json = false

    func validate() throws {
        guard !watch || !fingerprint else { throw ValidationError("--watch and --fingerprint exclude each other") }
    }

    func run() throws {
        if watch { return try SyncWatch(json: json).run(vault) }
        let result = try vault.synced(withFingerprint: fingerprint)
        let names = DeviceNames(result.deviceNames)
        if let failure = result.failure, result.outcomes.isEmpty { throw CommandError(failure, of: names) }
        let outcomes = result.outcomes
        guard !outcomes.isEmpty else {
            throw CommandError(.notFound, "the fleet has no remote here", hint: "'vault remote add URL'")
        }
        var failures = outcomes.compactMap { $0.failure(names) }
        if let failure = result.failure { failures.append(CommandError(failure, of: names)) }
        for outcome in outcomes {
            for note in outcome.notes { Output.warn("\(note.message(of: names)); this sync has mended that") }
        }
        // The most serious failure ends the command; the others are warnings.
        let worst = failures.min { $0.rank < $1.rank }
        try Output.after("the sync is over", hint: "'vault status' shows its result", onlyWarns: worst != nil) {
            if json {
                try Output.json(
                    SyncOutput(
                        remotes: outcomes.map { RemoteOutput($0, names) }, conflicts: result.conflicts,
                        fingerprint: result.fingerprint))
            } else if !fingerprint {
                try Output.write(outcomes.filter { $0.error == nil }.map { $0.line + "\n" }.joined())
            }
            try tellConflicts(result)
        }
        if let worst {
            for failure in failures where failure.message != worst.message { Output.warn(failure.message) }
            throw worst
        }
        if outcomes.contains(where: \.report.isLocked) { try tellWaiting(outcomes) }
        if let fingerprint = result.fingerprint, !json { try Output.line(fingerprint) }
    }

    private func tellConflicts(_ result: SyncResult) throws {
        guard let count = result.conflicts else {
            if result.failure == nil, !result.outcomes.contains(where: \.report.isLocked) {
                Output.warn("cannot count the conflicts: see 'vault conflicts'")
            }
            return
        }
        guard count > 0, !json else { return }
        // Only the fingerprint goes to standard output, so that users can compare it.
        if fingerprint { Output.note(ConflictCount.text(count)) } else { try Output.line(ConflictCount.text(count)) }
    }

    private func tellWaiting(_ outcomes: [SyncOutcome]) throws {
        guard !fingerprint else {
            throw CommandError(
                .locked, "the vault is locked: unlock it to compare it with the other devices",
                hint: "'vault unlock', or --passphrase-file FILE")
        }
        let waiting = outcomes.map(\.report.waiting).max() ?? 0
        let untold = outcomes.map(\.report.untold).max() ?? 0
        guard waiting > 0 || untold > 0 else { return }
        Output.warn(
            """
            the vault is locked: entries of other devices that wait until it is unlocked: \(waiting); items that \
            changed here and are to be told then: \(untold)
            """)
    }
}

extension SyncOutcome {
    /// Returns the most serious failure that the sync did not repair; `nil` if there is none.
    fileprivate func failure(_ names: DeviceNames) -> CommandError? {
        var failures = alarms.map { CommandError($0, of: names) }
        if let error { failures.append(CommandError(error, of: names)) }
        return failures.min { $0.rank < $1.rank }
    }

    var line: String {
        var text = "\(url.text.printable): sent \(report.published), received \(report.applied)"
        if !report.revived.isEmpty {
            text += "; \(report.revived.count) deleted on one device and edited on another stay"
        }
        if report.isLocked { text += "; the vault is locked" }
        if report.newLog { text += "; this vault was put back or copied, and goes on as a new log" }
        return text
    }
}

extension CommandError {
    /// The order of seriousness: alarms about the fleet's records come before an unreachable remote.
    fileprivate var rank: Int {
        let order: [ExitStatus] = [.removed, .damaged, .forked, .rolledBack]
        return order.firstIndex(of: status) ?? order.count
    }
}

private struct SyncOutput: Encodable {
    var remotes: [RemoteOutput]
    /// Left out if unknown.
    var conflicts: UInt64?
    var fingerprint: String?
}

/// The result of a sync with a remote.
///
/// Size: each property is a key of the JSON form.
struct RemoteOutput: Encodable {
    var url: String
    var told: Int
    var heard: Int
    var sent: Int
    var received: Int
    var items: Int
    /// The number of items that were deleted on one device and edited on another; the edit wins.
    var revived: Int
    var newLog: Bool
    var isLocked: Bool
    /// The number of entries that wait until the vault is unlocked.
    var waiting: Int
    var mended: [AlarmOutput]
    var alarms: [AlarmOutput]
    var error: String?

    init(_ outcome: SyncOutcome, _ names: DeviceNames) {
        let report = outcome.report
        url = outcome.url.text
        (told, heard) = (report.published, report.applied)
        (sent, received, items) = (report.sent, report.received, report.items)
        (revived, newLog) = (report.revived.count, report.newLog)
        (isLocked, waiting) = (report.isLocked, report.waiting)
        mended = outcome.notes.map { AlarmOutput($0, names) }
        alarms = outcome.alarms.map { AlarmOutput($0, names) }
        if case .alarm(let alarm)? = outcome.error { alarms.append(AlarmOutput(alarm, names)) }
        error = outcome.error.map { CommandError($0).message }
    }
}

/// An alarm about a record, with the record's position.
struct AlarmOutput: Encodable {
    var kind: String
    var message: String
    var device: String?
    var log: String?
    var sequence: UInt64

    init(_ alarm: Alarm, _ names: DeviceNames) {
        kind = alarm.kind.rawValue
        message = alarm.message(of: names)
        device = names.name(of: alarm.log)
        log = alarm.log?.text
        sequence = alarm.sequence
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultSync

/// The agent's messages about wrong records that automatic syncs have found.
final class FoundRecords: Sendable {
    /// The faults of each remote that its last sync could not mend.
    private let alarms = Mutex<[RemoteURL: [Alarm]]>([:])

    /// Returns lines for the agent's log. Mended faults are reported each time, others once as long as they persist.
    func lines(_ outcome: SyncOutcome) -> [String] {
        let new = alarms.withLock { alarms in
            let known = alarms.updateValue(outcome.alarms, forKey: outcome.url) ?? []
            return outcome.alarms.filter { !known.contains($0) }
        }
        return FoundRecords.lines(outcome.notes, outcome.url, "mended")
            + FoundRecords.lines(new, outcome.url, "not mended")
    }

    /// Makes one line for each kind: a server that was restored has lost something of every device.
    private static func lines(_ found: [Alarm], _ url: RemoteURL, _ end: String) -> [String] {
        var kinds: [Alarm.Kind] = []
        for alarm in found where !kinds.contains(alarm.kind) { kinds.append(alarm.kind) }
        return kinds.map { kind in
            let alarms = found.filter { $0.kind == kind }
            let more = alarms.count == 1 ? "" : ", and \(alarms.count - 1) more of that kind"
            return "\(url.text): \(kind.rawValue): \(RecordStoreError.shown(alarms[0].what))\(more); \(end)"
        }
    }
}

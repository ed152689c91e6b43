// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultSync

/// What an agent says of records that were wrong when nobody had asked for the sync.
final class FoundRecords: Sendable {
    /// Of each remote, what its last sync could not mend.
    private let alarms = Mutex<[RemoteURL: [Alarm]]>([:])

    /// For the agent's log. What is mended is said each time, what is not mended once for as long as it lasts.
    func lines(_ outcome: SyncOutcome) -> [String] {
        let new = alarms.withLock { alarms in
            let known = alarms.updateValue(outcome.alarms, forKey: outcome.url) ?? []
            return outcome.alarms.filter { !known.contains($0) }
        }
        return FoundRecords.lines(outcome.notes, outcome.url, "mended")
            + FoundRecords.lines(new, outcome.url, "not mended")
    }

    /// One line a kind: a server that was put back has lost something of every device.
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

// SPDX-License-Identifier: Apache-2.0
internal import VaultSync

extension [SyncOutcome] {
    /// Prints the faults that the syncs found, and a warning for each remote that a change of the fleet has not
    /// reached.
    ///
    /// - Parameter what: the consequence for an unreached remote, for display.
    func warn(_ what: String, _ names: DeviceNames) {
        for outcome in self {
            for note in outcome.notes { Output.warn("\(note.message(of: names)); this sync has mended that") }
            for alarm in outcome.alarms { Output.warn(alarm.message(of: names)) }
            if let error = outcome.error { Output.warn("\(CommandError(error, of: names).message); \(what)") }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultFormat
package import VaultStorage

/// The result of a sync for a person.
package struct SyncResult: Equatable, Sendable {
    package var outcomes: [SyncOutcome]
    /// The reason why there was no sync or no fingerprint.
    package var failure: SyncError?
    /// The names of the devices whose logs have findings.
    package var deviceNames: [LogID: String]
    /// `nil` if not requested, or if a fault or a waiting record remains.
    package var fingerprint: String?
    /// The number of conflicts after the sync; `nil` if there was no sync, the vault is locked, or the count failed.
    package var conflicts: UInt64?

    package init(
        _ outcomes: [SyncOutcome] = [], failure: SyncError? = nil, deviceNames: [LogID: String] = [:],
        fingerprint: String? = nil, conflicts: UInt64? = nil
    ) {
        (self.outcomes, self.failure) = (outcomes, failure)
        (self.deviceNames, self.fingerprint, self.conflicts) = (deviceNames, fingerprint, conflicts)
    }

    /// Whether this device and every remote have the same records.
    package var isWhole: Bool {
        failure == nil && outcomes.allSatisfy { $0.error == nil && $0.alarms.isEmpty && !$0.report.isLocked }
    }

    /// Whether the mirror has records that are joined once the vault is unlocked.
    package var awaitsUnlock: Bool { outcomes.contains { $0.report.waiting > 0 } }
}

extension SyncResult {
    /// Syncs a vault with every remote of its fleet.
    ///
    /// - Parameters:
    ///   - urls: the remotes to sync with; `nil` selects all.
    ///   - environment: the environment of the vault.
    ///   - engines: the engines of the remotes.
    ///   - isUnasked: whether the sync is automatic and periodic.
    ///   - patience: the longest wait for another sync of the vault.
    ///   - goesOn: called between two records; `false` ends the sync there.
    package init(
        syncing vault: Vault, with urls: Set<RemoteURL>? = nil, environment: VaultEnvironment = .system,
        engines: RemoteEngines? = nil, withFingerprint: Bool, isUnasked: Bool = false,
        patience: Duration = .zero, goesOn: @escaping () -> Bool = { true }
    ) {
        self.init()
        do throws(SyncError) {
            let fleet = try Fleet(vault, environment: environment, engines: engines, patience: patience)
            fleet.isUnasked = isUnasked
            do throws(SyncError) {
                outcomes = try fleet.sync(with: urls, goesOn: goesOn)
                // A failed count does not undo the sync: the command reports the count as unknown.
                if !vault.isLocked { conflicts = (try? vault.conflictCount()).map { UInt64($0) } }
                if withFingerprint, isWhole { fingerprint = try fleet.fingerprint() }
            } catch { failure = error }
            name(fleet)
        } catch { failure = error }
    }

    private mutating func name(_ fleet: Fleet) {
        let alarms = outcomes.flatMap { $0.alarms + $0.notes + [$0.error?.alarm].compactMap { $0 } }
        let logs = Set((alarms + [failure?.alarm].compactMap { $0 }).compactMap(\.log))
        guard !logs.isEmpty, let names = try? fleet.deviceNames() else { return }
        deviceNames = names.filter { logs.contains($0.key) }
    }
}

extension SyncError {
    fileprivate var alarm: Alarm? { if case .alarm(let alarm) = self { alarm } else { nil } }
}

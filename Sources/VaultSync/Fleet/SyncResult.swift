// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultFormat
package import VaultStorage

/// All that a person is told of a sync.
package struct SyncResult: Equatable, Sendable {
    package var outcomes: [SyncOutcome]
    /// Why there was no sync, or no fingerprint.
    package var failure: SyncError?
    /// Of the logs of which something was found.
    package var deviceNames: [LogID: String]
    /// Nil: it was not asked for, or something is not mended or waits.
    package var fingerprint: String?
    /// How many conflicts the vault has afterwards. Nil: there was no sync, the vault is locked, or they could not be
    /// counted.
    package var conflicts: UInt64?

    package init(
        _ outcomes: [SyncOutcome] = [], failure: SyncError? = nil, deviceNames: [LogID: String] = [:],
        fingerprint: String? = nil, conflicts: UInt64? = nil
    ) {
        (self.outcomes, self.failure) = (outcomes, failure)
        (self.deviceNames, self.fingerprint, self.conflicts) = (deviceNames, fingerprint, conflicts)
    }

    /// Whether every remote has what this device has, and the other way round.
    package var isWhole: Bool {
        failure == nil && outcomes.allSatisfy { $0.error == nil && $0.alarms.isEmpty && !$0.report.isLocked }
    }

    /// Whether something lies in the mirror that is to be joined once the vault is unlocked.
    package var awaitsUnlock: Bool { outcomes.contains { $0.report.waiting > 0 } }
}

extension SyncResult {
    /// Syncs a vault with every remote of its fleet.
    ///
    /// - Parameters:
    ///   - urls: of the remotes that are meant; nil: of all.
    ///   - environment: of the vault.
    ///   - engines: of the remotes.
    ///   - isUnasked: whether it comes by itself, again and again.
    ///   - patience: how long another sync of the vault is waited for.
    ///   - goesOn: asked between two records; one that is not wanted any more ends there.
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
                // One that cannot be counted does not undo the sync: the command says that it is not known.
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

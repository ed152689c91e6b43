// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat
internal import VaultSync

extension CommandError {
    init(_ error: SyncError) {
        switch error {
        case .store(let error): self.init(error)
        case .url(let what): self = .usage(what.printable)
        case .vault(let error): self.init(error)
        case .format:
            self.init(
                .damaged, "a device published a record that this version does not understand",
                hint: "compare the versions: 'vault --version'; nothing was changed")
        case .removed:
            self.init(
                .removed, "this device was removed from the fleet; the vault keeps its items, and nothing is synced",
                hint: "an owner signed the removal; to join again, move the vault's file away, then 'vault init' "
                    + "and 'vault remote add URL --join'")
        case .isFiltered:
            self = .usage(
                "this device joined with --only-synchronizable, which is gone: it neither sends nor takes changes",
                hint: "leave: 'vault remote remove URL', here, keeps the items; or join anew with all of them: "
                    + "move the vault's file away, then 'vault init' and 'vault remote add URL --join'")
        case .notJoined:
            self.init(
                .notFound, "this vault belongs to no fleet",
                hint: "'vault remote add URL' founds one; with --join the vault joins the one that is there")
        case .alreadyJoined:
            self.init(
                .alreadyExists, "this vault belongs to a fleet already",
                hint: "a second place for the same fleet: 'vault remote add URL' alone")
        case .alarm(let alarm): self.init(alarm)
        case .notAnOwner:
            self.init(
                .failure, "only an owner may do that", hint: "on a device that is one: see 'vault device list'")
        case .noSuchDevice:
            self.init(.notFound, "there is no such device", hint: "see 'vault device list'")
        case .ambiguousDevice(let devices):
            let shown = devices.prefix(8).map { $0.id.text + ($0.isRemoved ? " (removed)" : "") }
            self.init(
                .ambiguous, "\(devices.count.grouped) devices have this name",
                hint: "choose one by its identifier: " + shown.joined(separator: ", ")
                    + (shown.count < devices.count ? ", …" : ""))
        case .noSuchRemote: self.init(.notFound, "there is no such remote", hint: "see 'vault remote list'")
        case .remoteInUse:
            self.init(
                .alreadyExists, "there is a fleet already",
                hint: "to join it: --join, or --recovery-code-file FILE; another fleet needs its own folder")
        case .noAnswer:
            self.init(
                .notFound, "no device uses this code there",
                hint: "a code is valid for an hour, and both devices must see the same folder")
        case .wrongRecoveryCode:
            self.init(.wrongPassphrase, "this is not the recovery code of the fleet")
        case .busy, .overtaken: self.init(.busy, "another process syncs this vault", hint: "try again")
        case .tooLarge: self.init(.failure, "a value, or the list of devices, is larger than a record may be")
        case .tooManyLogs: self.init(.resources, "the fleet has had more devices than a vault supports")
        }
    }

    /// Like ``init(_:)``, and names the device whose record an alarm is about.
    init(_ error: SyncError, of names: DeviceNames) {
        if case .alarm(let alarm) = error { self.init(alarm, of: names) } else { self.init(error) }
    }

    private init(_ error: RecordStoreError) {
        let works = "the vault itself works without"
        let (status, hint): (ExitStatus, String?) =
            switch error {
            case .unreachable(let place) where place.hasPrefix("/"): (.inputOutput, "is it mounted? " + works)
            case .unreachable, .inputOutput: (.inputOutput, works)
            case .refused(_, let hint): (.inputOutput, hint?.printable)
            case .denied: (.inputOutput, "the server's administrator can grant this")
            case .invalid, .stopped: (.failure, nil)
            }
        self.init(status, error.phrase.printable, hint: hint)
    }

    /// Makes the error of an alarm, with the name of the device that owns the record.
    init(_ alarm: Alarm, of names: DeviceNames = DeviceNames()) {
        self.init(alarm.kind.status, alarm.message(of: names), hint: alarm.hint)
    }
}

extension Alarm.Kind {
    var status: ExitStatus {
        switch self {
        case .damaged, .forged: .damaged
        case .forked: .forked
        case .withheld, .rolledBack, .diverged: .rolledBack
        }
    }
}

extension Alarm {
    func message(of names: DeviceNames) -> String {
        let record = log.map { "change \(sequence) of \(names.phrase(of: $0))" } ?? "the list of devices"
        let detail = what.printable
        switch kind {
        case .damaged: return "\(record) was altered, and is not taken over: \(detail)"
        case .forged: return "\(record) was written by somebody else, and is not taken over: \(detail)"
        case .forked:
            return log == nil
                ? "forked: the list of devices was changed in two ways: \(detail)"
                : "forked: there are two versions of \(record): \(detail)"
        case .withheld: return "withheld: other devices depend on changes that the remote does not show: \(detail)"
        case .rolledBack:
            let what = log.map { "changes of \(names.phrase(of: $0))" } ?? "a part of the list of devices"
            return "rolled back: the remote has lost \(what): \(detail)"
        case .diverged:
            return "diverged: \(log.map(names.phrase) ?? "another device") has the same changes, and other items"
        }
    }

    fileprivate var hint: String {
        switch kind {
        case .damaged, .forged:
            "everything else continues; 'vault help sync' says how to repair the record"
        case .forked:
            log == nil
                ? "'vault device resolve' keeps the list that this device has; what the other one changed is done again"
                : "a device was copied or restored together with the remote: remove it, and let it join again"
        case .withheld: "wait for copies to finish, sync the other devices, or add a second remote"
        case .rolledBack: "sync the other devices: a device with the changes restores them"
        case .diverged: "this repairs itself: both devices publish all items again within a day"
        }
    }
}

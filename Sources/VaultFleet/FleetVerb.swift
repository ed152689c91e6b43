// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import VaultAgent
internal import VaultCrypto
package import VaultFormat
package import VaultSync

/// A change of a fleet, or a look before one. An agent carries it out for the command, or the command does so itself on
/// a vault that it opens.
package protocol FleetVerb: AgentRequest, Formed where Reply == SyncReply {
    /// Whether the verb gives its initiator access to every item, including those that require user presence.
    static var opensAll: Bool { get }
    /// Whether the verb waits for a remote, and before it for a current sync.
    static var waitsForRemote: Bool { get }
    /// Whether the verb keeps the vault open.
    static var isUse: Bool { get }

    func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange
}

extension FleetVerb {
    package static var opensAll: Bool { false }
    package static var waitsForRemote: Bool { true }
    package static var isUse: Bool { true }
}

/// The result of a verb.
package struct FleetChange: MessageValue, Formed, Sendable {
    package static let form = MessageForm<Self>({
        FleetChange(failure: $0, deviceNames: $1, name: $2, device: $3, secrets: $4, outcomes: $5, delay: $6)
    }) { ($0.failure, $0.deviceNames, $0.name, $0.device, $0.secrets, $0.outcomes, $0.delay) }

    /// The reason why the change was not made.
    package var failure: SyncError?
    /// The names of the devices whose logs have findings.
    package var deviceNames: [LogID: String] = [:]
    /// The name of a device.
    package var name: String?
    /// The admitted device.
    package var device: FleetDevice?
    /// The items that a device can read, or could read.
    package var secrets: DeviceSecrets?
    /// The state of each remote after the change.
    package var outcomes: [SyncOutcome] = []
    /// The reason why no remote has taken the change yet. Each later sync tries again.
    package var delay: SyncError?
    /// Whether nothing was changed. Not encoded.
    package var isLook = false

    /// Sets the names of the devices whose logs have findings.
    package mutating func nameDevices(_ fleet: Fleet) {
        let errors = [failure, delay] + outcomes.map(\.error)
        var logs = Set(outcomes.flatMap { $0.alarms + $0.notes }.compactMap(\.log))
        for case .alarm(let alarm)? in errors { if let log = alarm.log { logs.insert(log) } }
        guard !logs.isEmpty, let names = try? fleet.deviceNames() else { return }
        deviceNames = names.filter { logs.contains($0.key) }
    }
}

extension FleetChange {
    /// Runs a verb. A failure is a part of the result.
    package init(_ verb: some FleetVerb, _ fleet: () throws(SyncError) -> Fleet, _ host: FleetHost) {
        do throws(SyncError) {
            let fleet = try fleet()
            do throws(SyncError) { self = try verb.run(fleet, host) } catch { self.init(failure: error) }
            nameDevices(fleet)
        } catch { self.init(failure: error) }
    }
}

/// The process that changes a fleet: an agent, or the command.
package final class FleetHost: Sendable {
    /// Whether the process is an agent, whose service has read-only access to most folders.
    let isAgent: Bool
    private let now: @Sendable () -> Duration
    /// The newest request to join a fleet, and its time. Only this one waits for an answer.
    private let joining = Mutex<(wish: JoinWish, since: Duration)?>(nil)

    /// The validity of a code.
    private static let patienceForOwner = Duration.seconds(3600)

    /// - Parameter now: the time since any moment.
    package init(isAgent: Bool, now: @escaping @Sendable () -> Duration) { (self.isAgent, self.now) = (isAgent, now) }

    func wait(with wish: JoinWish) { joining.withLock { $0 = (wish, now()) } }

    func forgetWish() { joining.withLock { $0 = nil } }

    /// - Throws: `.noAnswer` for an unknown code, or one that is too old.
    func wish(_ code: Secret) throws(SyncError) -> JoinWish {
        guard let (wish, since) = joining.withLock({ $0 }), now() - since <= Self.patienceForOwner,
            code.withBytes({ code in wish.code.secret.withBytes { isEqualInConstantTime($0, code) } })
        else { throw .noAnswer }
        return wish
    }
}

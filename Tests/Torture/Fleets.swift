// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault
import VaultStorage
import VaultSync

/// Devices as processes on one folder, which are killed at random moments: what one has acknowledged, all have in the
/// end.
struct Fleets {
    let directory: String
    let devices: Int
    let writes: Int

    private static let passphrase = "first"

    private var shared: RemoteURL { RemoteURL(folder: FilePath(directory).appending("shared")) }

    private func environment(_ device: Int) -> VaultEnvironment {
        var environment = VaultEnvironment.system
        environment.strengthensSlots = false
        environment.stateDirectory = FilePath(directory).appending("device\(device)/state")
        return environment
    }

    private func path(_ device: Int) -> FilePath { FilePath(directory).appending("device\(device)/device.vault") }

    private func open(_ device: Int) throws -> (vault: Vault, fleet: Fleet) {
        let environment = environment(device)
        let vault = try Vault.open(
            at: path(device), unlockingWith: .of(Fleets.passphrase), environment: environment)
        return (vault, try Fleet(vault, environment: environment))
    }

    private func make() throws {
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(
            atPath: shared.folder.string, withIntermediateDirectories: true)
        for device in 0..<devices {
            let vault = try Vault.create(
                at: path(device), passphrase: .of(Fleets.passphrase), cost: .weakest,
                environment: environment(device))
            let fleet = try Fleet(vault, environment: environment(device))
            if device == 0 {
                _ = try fleet.found(shared, deviceName: "device0", onlySynchronizable: false)
            } else {
                let attempt = try fleet.requestToJoin(
                    shared, deviceName: "device\(device)", onlySynchronizable: false)
                let founder = try open(0)
                _ = try founder.fleet.approve(attempt.code, role: .owner)
                founder.vault.close()
                guard try attempt.poll() else { throw SyncError.noAnswer }
            }
            vault.close()
        }
    }

    /// One device: it acknowledges each write on standard output, and syncs now and then.
    func write(_ device: Int, from first: Int) throws {
        let (vault, fleet) = try open(device)
        for number in first..<writes {
            let name = "\(device)/\(number)"
            try vault.set(Item(.genericPassword(service: "fleet", account: name), secret: try Secret(text: name)))
            // All of them change one item: its values are conflicts, and the last of each device is among them.
            try vault.set(Item(.genericPassword(service: "all", account: "one"), secret: try Secret(text: name)))
            say(name)
            if number % 20 == 19 { _ = try? fleet.sync() }
        }
        _ = try fleet.sync()
        vault.close()
    }

    func run() throws -> Bool {
        try make()
        var acknowledged = [Int](repeating: 0, count: devices)
        var kills = 0
        // In rounds: all devices write at once, and each is killed at some moment.
        while acknowledged.contains(where: { $0 < writes }) {
            let running = try (0..<devices).filter { acknowledged[$0] < writes }.map { device in
                try Running(directory, device, devices, writes, from: acknowledged[device])
            }
            for one in running {
                let moment = Int.random(in: 1...max(2, writes / 2))
                let (count, wasKilled) = try one.killed(after: moment)
                acknowledged[one.device] += count
                kills += wasKilled ? 1 : 0
            }
        }
        let (rounds, lost, forked) = try settle(acknowledged)
        say(
            "fleet: \(devices) devices, \(acknowledged.reduce(0, +)) acknowledged writes, \(kills) killed, "
                + "equal after \(rounds) rounds, \(lost) lost, \(forked) alarms")
        return lost == 0 && forked == 0 && rounds > 0
    }

    /// A device's process and its pipe.
    private struct Running {
        let device: Int
        private let process = Process()
        private let pipe = Pipe()

        init(_ directory: String, _ device: Int, _ devices: Int, _ writes: Int, from first: Int) throws {
            self.device = device
            process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            process.arguments = ["device", directory, "\(devices)", "\(writes)", "\(device)", "\(first)"]
            process.standardOutput = pipe
            try process.run()
        }

        /// How much it acknowledged, and whether it was still at it.
        func killed(after moment: Int) throws -> (count: Int, wasKilled: Bool) {
            var output = Data()
            let newline = UInt8(ascii: "\n")
            while output.count(where: { $0 == newline }) < moment,
                case let more = pipe.fileHandleForReading.availableData, !more.isEmpty
            {
                output += more
            }
            let wasRunning = process.isRunning
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            output += try pipe.fileHandleForReading.readToEnd() ?? Data()
            return (output.count { $0 == newline }, wasRunning)
        }
    }

    /// Syncs until all have the same, and looks for what was acknowledged.
    private func settle(_ acknowledged: [Int]) throws -> (rounds: Int, lost: Int, alarms: Int) {
        let all = try (0..<devices).map { try open($0) }
        var (rounds, alarms) = (0, 0)
        for round in 1...6 {
            for (_, fleet) in all {
                for outcome in try fleet.sync() {
                    if let error = outcome.error { throw error }
                    alarms += outcome.alarms.count
                    for alarm in outcome.alarms { say("fleet: \(alarm.kind.rawValue): \(alarm.what)") }
                }
            }
            if try Set(all.map { try $0.fleet.fingerprint() }).count == 1 {
                rounds = round
                break
            }
        }
        var lost = 0
        for (vault, _) in all {
            var query = Query(.genericPassword, service: "fleet")
            query.returnsSecrets = true
            let found = try Dictionary(
                vault.copyMatching(query).map { ($0.attributes[.account]?.text ?? "", try $0.text) }
            ) { first, _ in first }
            for device in 0..<devices {
                for number in 0..<acknowledged[device] where found["\(device)/\(number)"] != "\(device)/\(number)" {
                    say("fleet: \(device)/\(number) was acknowledged and is lost")
                    lost += 1
                }
            }
        }
        return (rounds, lost, alarms)
    }
}

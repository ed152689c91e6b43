// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultFormat
internal import VaultStorage

struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the state of a vault without its passphrase.",
        discussion: """
            For a vault that belongs to a fleet, the command shows more if it can unlock the vault: the remotes, the \
            changes that wait for a sync, the conflicts, the devices and when each was last heard from. The command \
            never asks for a passphrase.
            """)

    @OptionGroup var vault: VaultOptions
    @OptionGroup var output: JSONOption

    func run() throws {
        let store = try LockedStore(vault.file.path(), environment: .system)
        var summary = Summary(store, size: try store.fileSize())
        do throws(VaultError) {
            summary.agent = try AgentControl.open(vault: store.path).map { Summary.Agent($0) }
        } catch { if error != .agent(.otherVault) { summary.agentProblem = error.text } }
        if store.header.isReplicated { summary.fleet = try FleetSummary.of(vault) }
        guard output.json else { return try Output.write(summary.text) }
        try Output.json(summary)
    }

    private struct Summary: Encodable {
        struct Agent: Encodable {
            var state: String
            var pid: UInt32
            var version: String
            var idleSeconds: UInt32
            var maxSeconds: UInt32
            var locksInSeconds: UInt32?
            var access: String
            var audit: Bool
            var clients: UInt32
            /// The version of the agent's protocol.
            var `protocol`: UInt8
            private let isOfAnotherVersion: Bool

            private enum CodingKeys: String, CodingKey {
                case state, pid, version, idleSeconds, maxSeconds, locksInSeconds, access, audit, clients, `protocol`
            }

            init(_ agent: AgentControl) {
                let status = agent.status
                (`protocol`, isOfAnotherVersion) = (agent.version, agent.isOfAnotherVersion)
                state = status.state == .unlocked ? "unlocked" : status.state == .locked ? "locked" : "never-unlocked"
                pid = status.processID
                version = status.version
                idleSeconds = status.idleLimit
                maxSeconds = status.maximum
                locksInSeconds = status.locksIn
                access = status.access == .full ? "full" : status.access == .injectOnly ? "inject-only" : "none"
                audit = status.isAuditing
                clients = status.clients
            }

            var text: String {
                var text = state == "never-unlocked" ? "running, not unlocked yet" : state
                if let locksInSeconds { text += ", locks in \(StatusText.words(locksInSeconds))" }
                if access != "full" { text += ", \(access) for this process" }
                if isOfAnotherVersion { text += ", of another release: 'vault agent --stop' ends it" }
                return text + (audit ? ", with an audit log" : "") + " (pid \(pid))"
            }

        }

        /// The device's memory of the vault, which cannot be verified without a key.
        struct Remembered: Encodable {
            var generation: UInt64
            var sequence: UInt64
            var isOfThisVault: Bool

            init(_ anchor: Anchor, of vaultID: [UInt8]) {
                (generation, sequence, isOfThisVault) = (anchor.generation, anchor.sequence, anchor.vaultID == vaultID)
            }

            var text: String { isOfThisVault ? "generation \(generation), commit \(sequence)" : "of another vault" }
        }

        var path: String
        var format: String
        var vaultID: String
        var generation: UInt64
        var size: Int
        var slots: [SlotSummary]
        var anchor: Remembered?
        var agent: Agent?
        /// The reason why the agent's state is unknown.
        var agentProblem: String?
        /// The doors that are enabled or served.
        var doors: [OpenDoor]
        /// The fleet; `nil` if the vault does not belong to one.
        var fleet: FleetSummary?

        init(_ store: LockedStore, size: Int) {
            path = store.path.string
            format = "\(Header.major).\(store.header.minor)"
            vaultID = hexadecimal(store.header.vaultID)
            anchor = store.anchors.first.map { Remembered($0, of: store.header.vaultID) }
            generation = store.header.generation
            self.size = size
            doors = OpenDoor.all(DoorsState())
            slots = store.header.slots.map(SlotSummary.init)
        }

        var text: String {
            var lines = [
                "path        \(path.printable)", "format      VLT \(format)", "vault       \(vaultID)",
                "generation  \(generation)",
                "size        \(size) bytes",
            ]
            lines += slots.map { "unlock      \($0.description)" }
            lines.append("anchor      \(anchor?.text ?? "none")")
            lines.append("agent       \(agent?.text ?? agentProblem ?? "none")")
            lines += (doors.isEmpty ? ["none"] : doors.map(\.text)).map { "doors       \($0)" }
            lines += fleet?.lines ?? []
            return lines.joined(separator: "\n") + "\n"
        }
    }
}

/// Formats times for display.
enum StatusText {
    static func words(_ seconds: UInt32) -> String {
        seconds < 120 ? "\(seconds) s" : seconds < 7200 ? "\((seconds + 59) / 60) min" : "\((seconds + 3599) / 3600) h"
    }
}

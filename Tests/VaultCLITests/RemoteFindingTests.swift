// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultFormat

@testable import VaultCLI
@testable import VaultSync

/// The findings of `vault doctor` about a fleet and its remotes.
struct RemoteFindingTests {
    private static let now = Date(timeIntervalSinceReferenceDate: 800_000_000)
    private static let hostile = "a\u{1B}[2J\u{202E}b\nwarn"

    private func device(
        _ name: String, _ role: DeviceRole = .writer, isThis: Bool = false, age: Double? = 60, isSilent: Bool = false
    ) -> FleetDevice {
        FleetDevice(
            id: .zero, name: name, role: role, isThis: isThis,
            lastHeard: age.map { Self.now.timeIntervalSinceReferenceDate - $0 }, isSilent: isSilent)
    }

    private func findings(
        _ urls: [String] = ["file:///s"], _ devices: [FleetDevice] = [], hasNetwork: Bool = false,
        _ check: (inout RemoteCheck) -> Void = { _ in }
    ) throws -> [Finding] {
        let remotes = try urls.map { FleetStatus.Remote(url: try RemoteURL($0), lastSync: 1) }
        let status = FleetStatus(
            realmID: .zero, deviceName: "laptop", remotes: remotes, isFiltered: false, pending: 0,
            conflicts: 0, isRemoved: false, removals: [], lastEqual: nil,
            devices: [device("laptop", .owner, isThis: true)] + devices, alarms: [])
        let checks = remotes.map { remote in
            var found = RemoteCheck(url: remote.url, isByTLS: RemoteAccess(remote.url).isByTLS)
            check(&found)
            return found
        }
        let summary = FleetSummary(status, DeviceNames(), checks: checks)
        return FleetCheck.findings(summary, hasNetwork: hasNetwork, now: Self.now)
    }

    private func warnings(_ findings: [Finding]) -> [String] {
        findings.compactMap { if case .warning(let text) = $0 { text } else { nil } }
    }

    @Test(arguments: [
        ("file:///s", "is there"), ("ssh://h/s", "answers, by ssh"), ("etcd://h", "answers over verified TLS"),
        ("postgres://u@h/d", "answers over verified TLS"), ("etcd://localhost", "answers, on this machine"),
        ("postgres://u@%2Frun/d", "answers, on this machine"),
    ]) func `a remote that answers is said to, and how it is spoken to`(url: String, words: String) throws {
        let found = try findings([url])
        #expect(warnings(found).isEmpty)
        #expect(found[0].line == "ok    the remote '\(url)' \(words)\n")
    }

    @Test func `a missing right names the role that has it`() throws {
        for (url, adds, removes) in [
            ("postgres://u@h/d", "vault_sync", "vault_trim"), ("etcd://h", "readwrite on vlt1/", "readwrite on vlt1/"),
            ("file:///s", "read-only", "read-only"), ("ssh://h/s", "this key", "this key"),
        ] {
            let mayNothing = warnings(try findings([url]) { ($0.mayAppend, $0.mayRemove) = (false, false) })
            #expect(mayNothing.count == 1 && mayNothing[0].contains("may not publish to the remote '\(url)'"))
            #expect(mayNothing[0].contains(adds))
            let mayAdd = warnings(
                try findings([url]) { ($0.mayAppend, $0.mayRemove, $0.waitingTrims) = (true, false, 1234) })
            #expect(mayAdd.count == 1 && mayAdd[0].contains("may remove nothing from the remote '\(url)'"))
            #expect(mayAdd[0].contains(removes) && mayAdd[0].contains("1,234 records"))
        }
        let waiting = warnings(try findings { $0.waitingTrims = 7 })
        #expect(waiting == ["7 superseded records of the remote 'file:///s' wait to be removed: 'vault sync'"])
    }

    @Test func `why a remote cannot be used is said, with the package that is missing`() throws {
        for (error, words) in [
            (
                RecordStoreError.unreachable("PostgreSQL's libpq is missing; install the package libpq5"),
                "install the package libpq5"
            ),
            (.refused("libcurl is missing", hint: "install the package 'libcurl4'"), "libcurl4"),
            (.refused("the certificate is not that", hint: nil), "the certificate is not that"),
            (.unreachable("etcd://h: no answer in 5 s"), "no answer in 5 s"),
        ] {
            let said = warnings(try findings(["etcd://h"]) { $0.failure = .store(error) })
            #expect(said.count == 1 && said[0].hasPrefix("the remote 'etcd://h' cannot be used now: "))
            #expect(said[0].contains(words))
        }
        let away = warnings(try findings { $0.failure = .store(.unreachable("/s")) })
        #expect(away == ["the remote 'file:///s' is missing: is it mounted?"])
    }

    @Test func `the network is named that no remote needs`() throws {
        #expect(warnings(try findings(hasNetwork: true)).count { $0.contains("may use the network") } == 1)
        #expect(warnings(try findings(["postgres://u@%2Frun/d"], hasNetwork: true)).count == 1)
        #expect(warnings(try findings(["file:///s", "ssh://h/s"], hasNetwork: true)).isEmpty)
        let directory = try TemporaryDirectory()
        #expect(!AgentNetwork.isOpen(in: [directory.path]))
        let drops = directory.path.appending("vault-agent.service.d").string
        try FileManager.default.createDirectory(atPath: drops, withIntermediateDirectories: true)
        for (name, content, isOpen) in [
            ("override.conf", "[Service]\nPrivateNetwork=yes\n", false),
            ("override.conf", "[Service]\nPrivateNetwork=no\n", true),
            ("override.conf", "[Service]\n PrivateNetwork = Off \n#PrivateNetwork=yes\n", true),
            ("override.conf", "[Service]\nPrivateNetwork=no\nPrivateNetwork=yes\n", false),
            ("override.conf", "[Service]\nPrivateNetwork=0\n", true),
            ("later.conf", "[Service]\nPrivateNetwork=yes\n", true),
            ("zz.conf", "[Service]\nPrivateNetwork=yes\n", false),
        ] {
            try Data(content.utf8).write(to: URL(filePath: drops + "/" + name))
            #expect(AgentNetwork.isOpen(in: [directory.path]) == isOpen, "\(name): \(content)")
        }
    }

    @Test func `hostile names and words of servers reach neither a terminal nor JSON as they are`() throws {
        let url = RemoteURL(folder: FilePath("/" + Self.hostile)).text
        let found =
            try findings([url, "etcd://h"], [device(Self.hostile, age: nil), device(Self.hostile, age: -7200)]) {
                $0.failure = .store(.refused(Self.hostile, hint: Self.hostile))
            } + findings([url]) { $0.failure = .store(.denied(Self.hostile)) }
        #expect(warnings(found).count == 5)
        for finding in found {
            let line = finding.line.dropLast()
            #expect(!line.unicodeScalars.contains { $0.value < 32 || $0.value == 0x202E }, "\(line)")
            let json = try JSONEncoder().encode(finding)
            #expect(!json.contains { $0 < 32 })
        }
    }
}

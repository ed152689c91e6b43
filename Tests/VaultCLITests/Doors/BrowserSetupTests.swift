// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import VaultCLI

/// The manifests that `vault doors enable browser` writes and `disable` removes.
struct BrowserSetupTests {
    private static let theirs = """
        {"name": "org.keepassxc.keepassxc_browser", "description": "KeePassXC", "path": "/usr/bin/keepassxc-proxy",
        "type": "stdio", "allowed_extensions": ["keepassxc-browser@keepassxc.org"]}
        """

    @Test func `a directory or a file in the way stays, and nothing is changed`() throws {
        for name in [DoorHome.firefox + "/x", DoorHome.host + "/x", DoorHome.host] {
            let home = try DoorHome()
            try home.write("x", to: name)
            let before = try home.snapshot()
            #expect(ending { try home.enable(.browser) }?.status == .alreadyExists, "\(name)")
            #expect(try home.snapshot() == before)
        }
    }

    @Test func `what is enabled is enabled once, and taken back`() throws {
        let home = try DoorHome()
        #expect(
            try home.enable(.browser) == [
                "wrote " + DoorHome.host, "wrote " + DoorHome.firefox, "wrote " + DoorHome.chromium,
            ])
        let enabled = try home.snapshot()
        #expect(home.setup.isEnabled(.browser) && enabled[DoorHome.host] == "-> /opt/vault/bin/vault")
        for name in [DoorHome.firefox, DoorHome.chromium] {
            let manifest = try JSONDecoder().decode(BrowserManifest.self, from: Data(home.text(name).utf8))
            #expect(manifest.path == home.path(DoorHome.host) && manifest.type == "stdio")
            #expect((manifest.allowedExtensions == nil) != (manifest.allowedOrigins == nil))
        }
        #expect(try home.enable(.browser) == [])
        #expect(try home.snapshot() == enabled)
        #expect(try home.disable(.browser).count == 3)
        #expect(try home.snapshot().isEmpty && !home.setup.isEnabled(.browser))
        #expect(try home.disable(.browser) == [])
    }

    @Test func `a manifest of KeePassXC's is named, and put back byte for byte`() throws {
        let home = try DoorHome()
        try home.write(Self.theirs, to: DoorHome.firefox, mode: 0o600)
        try home.link(DoorHome.chromium, to: "/etc/theirs.json")
        let before = try home.snapshot()
        var details: [String?] = []
        try home.setup.enable([.browser]) { details.append($0.detail) }
        #expect(details.count == 3 && details[0] == nil)
        #expect(details.dropFirst().allSatisfy { $0?.contains("KeePassXC") ?? false })
        // Enabling twice keeps the record of the earlier state.
        #expect(try home.enable(.browser) == [])
        let taken = try home.disable(.browser)
        #expect(taken == ["restored " + DoorHome.chromium, "restored " + DoorHome.firefox, "removed " + DoorHome.host])
        #expect(try home.snapshot() == before)
    }

    @Test func `one that KeePassXC has written since stays`() throws {
        let home = try DoorHome()
        try home.enable(.browser)
        try home.write(Self.theirs, to: DoorHome.firefox)
        #expect(try home.disable(.browser).contains("kept " + DoorHome.firefox))
        #expect(try home.text(DoorHome.firefox) == Self.theirs)
        // A second enable replaces the manifest again.
        try home.enable(.browser)
        #expect(try home.disable(.browser).contains("restored " + DoorHome.firefox))
        #expect(try home.text(DoorHome.firefox) == Self.theirs)
    }

    @Test func `other browsers get one where they have a directory, and the installed link is named`() throws {
        var home = try DoorHome()
        for name in ["home/.librewolf/x", "config/BraveSoftware/Brave-Browser/x", "bin/vault-browser-host"] {
            try home.write("x", to: name, mode: 0o755)
        }
        home.setup = DoorSetup(
            places: {
                var places = home.setup.places
                places.command = home.path("bin/vault")
                return places
            }())
        let done = try home.enable(.browser)
        #expect(done.count == 4 && done.allSatisfy { $0.hasSuffix(".json") })
        #expect(try home.text(DoorHome.firefox).contains("\"\(home.path("bin/vault-browser-host"))\""))
        // A moved command writes its new path, and does not record its own manifests as files to restore.
        try home.remove("bin/vault-browser-host")
        try home.remove("state")
        #expect(try home.enable(.browser).count == 5)
        #expect(try home.disable(.browser).count == 5)
        #expect(try !home.snapshot().keys.contains { $0.hasSuffix(".json") })
    }

    @Test func `the buses' doors and the browsers' do not know of each other`() throws {
        let home = try DoorHome()
        try home.enable(.secretService)
        try home.enable(.browser)
        #expect(try home.text(DoorHome.secrets).contains("doors --secret-service\n"))
        try home.disable(.secretService)
        #expect(home.setup.isEnabled(.browser))
        try home.disable(.browser)
        #expect(try home.snapshot().isEmpty)
    }

    @Test func `by its other name the command is a browser's host, and nothing is an option`() {
        #expect(
            HelperAccess.arguments(["/usr/bin/vault-browser-host", "--help"]) == ["browser-host", "--", "--help"])
        #expect(HelperAccess.arguments(["vault", "get"]) == ["get"] && HelperAccess.arguments([]) == [])
    }
}

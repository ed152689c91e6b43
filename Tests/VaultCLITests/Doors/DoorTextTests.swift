// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import Testing

@testable import VaultCLI

/// The files that doors read and write.
struct DoorTextTests {
    private static let group = "org.freedesktop.secrets"

    private func set(_ text: String) -> String {
        var settings = SettingsText(text)
        settings.set("apiEnabled", in: Self.group, to: "false")
        return String(decoding: settings.bytes, as: UTF8.self)
    }

    @Test func `a file with zero bytes is no settings`() {
        #expect(SettingsText([0x5b, 0]) == nil)
        #expect(SettingsText([]) != nil)
    }

    @Test(arguments: [
        ("", "[G]\nK=false\n"),
        ("\n", "\n\n[G]\nK=false\n"),
        ("[a]\nK=true\n", "[a]\nK=true\n\n[G]\nK=false\n"),
        ("[a]\nb=c", "[a]\nb=c\n\n[G]\nK=false\n"),
        ("[a]\r\nb=c\r\n", "[a]\r\nb=c\r\n\r\n[G]\r\nK=false\r\n"),
        ("[G]", "[G]\nK=false"),
        ("[G]\n[a]\n", "[G]\nK=false\n[a]\n"),
        ("[G]\r\nx=1\r\n", "[G]\r\nK=false\r\nx=1\r\n"),
        ("[G]\nK=true", "[G]\nK=false"),
        (" [G] \n\tK = true \r\n", " [G] \n\tK = false \r\n"),
        ("[G]\nK=\nx=1\n", "[G]\nK=false\nx=1\n"),
        ("[G]\nK=1\nK=2\n", "[G]\nK=1\nK=false\n"),
        ("[G]\nK[$i]=true\n", "[G]\nK[$i]=false\n"),
        // Another group, another key, a comment and another language stay unchanged.
        ("[G][x]\nK=true\n", "[G][x]\nK=true\n\n[G]\nK=false\n"),
        ("[G]\nKK=true\n#K=true\n", "[G]\nK=false\nKK=true\n#K=true\n"),
        ("[G]\nK[de]=wahr\n", "[G]\nK=false\nK[de]=wahr\n"),
        ("K=true\n", "K=true\n\n[G]\nK=false\n"),
    ])
    func `a key is set, and every other byte stays`(text: String, expected: String) {
        func full(_ text: String) -> String {
            text.replacingOccurrences(of: "K", with: "apiEnabled").replacingOccurrences(of: "G", with: Self.group)
        }
        #expect(set(full(text)) == full(expected))
        #expect(set(full(expected)) == full(expected))
    }

    @Test(arguments: ["", "[a]\nb=c\n", "[a]\r\nb=c\r\n", "[G]\nx=1\n", "[G]\nK=on\n", "[G]\nK[$e]=  on \nx=1"])
    func `what was set is put back`(text: String) throws {
        let old = SettingsText(
            text.replacingOccurrences(of: "K", with: "apiEnabled").replacingOccurrences(of: "G", with: Self.group))
        var now = old
        now.set("apiEnabled", in: Self.group, to: "false")
        now.putBack("apiEnabled", in: Self.group, as: old)
        #expect(now == old)
    }

    @Test(arguments: [
        ("/usr/bin/vault", "/usr/bin/vault"), ("/opt/my vault/vault", "'/opt/my vault/vault'"),
        ("/o'brien/vault", #"'/o'\\''brien/vault'"#), (#"/back\slash"#, #"'/back\\slash'"#), ("/a\nb", #"'/a\nb'"#),
        ("/ü", "'/ü'"), ("/$HOME/`x`", "'/$HOME/`x`'"),
    ])
    func `a path is one word for the bus`(path: String, expected: String) {
        #expect(DoorPlaces.quoted(path) == expected)
    }

    @Test func `only what a vault has written is a vault's`() {
        func isOwn(_ text: String) -> Bool { DoorPlaces.isActivation(text, of: .secretService) }
        let start = "[D-BUS Service]\nName=org.freedesktop.secrets\nExec="
        #expect(isOwn(start + "/bin/vault doors --secret-service\n"))
        #expect(
            isOwn(start + "'/a doors --b/vault' doors --secret-service --portal\nSystemdService=vault-doors.service\n"))
        for other in [
            "", start, start + "/bin/vault doors --secret-service", start + "/bin/vault doors --here\n",
            start + "/bin/vault doors --secret-service\n\n", start + "/bin/vault doors --secret-service\nUser=root\n",
            start + "/usr/bin/gnome-keyring-daemon --start --foreground --components=secrets\n",
            "[D-BUS Service]\nName=org.freedesktop.other\nExec=/bin/vault doors --secret-service\n",
            "#\n" + start + "/bin/vault doors --secret-service\n",
        ] { #expect(!isOwn(other), "\(other)") }
    }

    @Test func `the file for the portal is the one that packages have`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Scripts/portal/vault.portal").standardized
        #expect(try String(contentsOf: file, encoding: .utf8) == DoorPlaces.portal)
    }

    @Test func `who has the name is a warning where the vault should have it`() {
        let other = SessionBus.Owner(pid: 7, program: "/usr/bin/gnome-keyring-daemon", isVault: false)
        let own = SessionBus.Owner(pid: 8, program: "/usr/bin/vault", isVault: true)
        func line(_ owner: SessionBus.Owner?, _ state: SessionBus.State = .reachable, _ doors: [Door] = []) -> String {
            let bus = SessionBus(state: state, owners: owner.map { [.secretService: $0] } ?? [:])
            return DoorsCheck.findings(DoorsState(bus, enabled: doors), nil)[1].line
        }
        #expect(line(other).hasPrefix("ok    /usr/bin/gnome-keyring-daemon (pid 7) serves"))
        #expect(line(other, .reachable, [.portal]).hasPrefix("ok "))
        #expect(line(other, .reachable, [.secretService]).hasPrefix("warn  /usr/bin/gnome-keyring-daemon (pid 7)"))
        #expect(line(own, .reachable, [.secretService]) == "ok    this vault's doors serve \(Self.group) (pid 8)\n")
        #expect(line(nil, .reachable, [.secretService]).hasPrefix("ok    no program serves"))
        #expect(line(nil, .silent) == "warn  the session bus does not answer\n")
        for state in [SessionBus.State.none, .unreachable, .noLibrary] { #expect(line(nil, state).hasPrefix("ok ")) }
        let none = DoorsState(SessionBus(state: .none, owners: [:]), enabled: [])
        #expect(DoorsCheck.findings(none, nil)[2].line.hasPrefix("warn "))
    }

    @Test func `status says of a door what is enabled and what is served, whoever started it`() throws {
        let other = SessionBus.Owner(pid: 7, program: "/usr/bin/gnome-keyring-daemon", isVault: false)
        let own = SessionBus.Owner(pid: 8, program: "/usr/bin/vault", isVault: true)
        func lines(_ owner: SessionBus.Owner?, _ enabled: [Door], _ state: SessionBus.State = .reachable) -> [String] {
            let bus = SessionBus(state: state, owners: owner.map { [.secretService: $0] } ?? [:])
            return OpenDoor.all(DoorsState(bus, enabled: enabled)).map(\.text)
        }
        // Another program's name does not concern a vault that was not given the name.
        #expect(lines(nil, []) == [])
        #expect(lines(other, []) == [])
        #expect(lines(own, []) == ["secret-service: not enabled, served by the vault's doors (pid 8)"])
        #expect(lines(own, [.secretService]) == ["secret-service: enabled, served by the vault's doors (pid 8)"])
        #expect(
            lines(other, [.secretService, .portal]) == [
                "secret-service: enabled, served by /usr/bin/gnome-keyring-daemon (pid 7)",
                "portal: enabled, not served",
            ])
        for state in [SessionBus.State.none, .silent, .unreachable, .noLibrary] {
            #expect(lines(nil, [.portal], state) == ["portal: enabled"])
        }
        let json = OpenDoor.all(DoorsState(SessionBus(state: .reachable, owners: [.secretService: own]), enabled: []))
        let text = String(decoding: try JSONEncoder().encode(json[0]), as: UTF8.self)
        for part in [#""enabled":false"#, #""pid":8"#, #""name":"secret-service""#] { #expect(text.contains(part)) }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import VaultCLI

/// The content of a home before doors are enabled.
struct DoorStart: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable (DoorHome) throws -> Void

    init(_ description: String, _ make: @escaping @Sendable (DoorHome) throws -> Void) {
        (testDescription, self.make) = (description, make)
    }

    /// Homes in which doors can be enabled.
    static let open = [
        DoorStart("an empty home") { _ in },
        DoorStart("settings without a newline at the end") {
            try $0.write("[Wallet]\nEnabled=true", to: DoorHome.wallet, mode: 0o600)
        },
        DoorStart("settings of Windows' lines") {
            try $0.write("[Wallet]\r\nEnabled=true\r\n", to: DoorHome.wallet, mode: 0o640)
            try $0.write("[preferred]\r\ndefault=gtk\r\n", to: "config/xdg-desktop-portal/portals.conf")
        },
        DoorStart("a group that is there twice, with the key in each") {
            try $0.write(
                "[org.freedesktop.secrets]\napiEnabled = true\n# note\n[x]\ny=1\n\n[org.freedesktop.secrets]\n"
                    + "apiEnabled[$e]=true  \nz=2\n", to: DoorHome.wallet)
        },
        DoorStart("a group at the very end, without the key") {
            try $0.write("[a]\nb=c\n\n[org.freedesktop.secrets]", to: DoorHome.wallet)
        },
        DoorStart("bytes that are no text") {
            try $0.write("", to: DoorHome.wallet)
            try Data([0x5b, 0x61, 0x5d, 0x0a, 0xff, 0xfe, 0x3d, 0x80, 0x0a]).write(
                to: URL(filePath: $0.path(DoorHome.wallet)))
        },
        DoorStart("an empty file of settings") { try $0.write("", to: DoorHome.wallet) },
        DoorStart("KWallet that is off already") {
            try $0.write("[org.freedesktop.secrets]\napiEnabled=false\n", to: DoorHome.wallet)
        },
        DoorStart("a link to settings that say so already") {
            try $0.write("[org.freedesktop.secrets]\napiEnabled=false\n", to: "elsewhere/kwalletrc")
            try $0.link(DoorHome.wallet, to: "../elsewhere/kwalletrc")
        },
        DoorStart("units that are masked already") { try $0.link(DoorHome.socket, to: "/dev/null") },
        DoorStart("units of the user's own") {
            try $0.write("[Unit]\nDescription=mine\n", to: DoorHome.socket, mode: 0o600)
            try $0.link("config/systemd/user/gnome-keyring-daemon.service", to: "/opt/other.service")
        },
        DoorStart("a start with the session that the user has changed") {
            try $0.write(
                "[Desktop Entry]\nType=Application\nHidden=false\nName[de]=Passwörter\n",
                to: "config/autostart/gnome-keyring-secrets.desktop", mode: 0o600)
        },
        DoorStart("files of portals for one desktop") {
            try $0.write("[preferred]\ndefault=kde\n", to: "config/xdg-desktop-portal/kde-portals.conf")
            try $0.write(
                "[preferred]\norg.freedesktop.impl.portal.Secret=gnome-keyring\n",
                to: "config/xdg-desktop-portal/portals.conf")
        },
        DoorStart("directories that others may enter") {
            try $0.write("x", to: "share/dbus-1/services/x", mode: 0o755)
        },
    ]

    /// Obstacles, and the path that the message names.
    static let closed: [(path: String, start: DoorStart)] = [
        (
            DoorHome.secrets,
            DoorStart("another program's file for the bus") {
                try $0.write(
                    "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/usr/bin/keepassxc\n", to: DoorHome.secrets)
            }
        ),
        (
            DoorHome.secrets,
            DoorStart("a vault's file for the bus with an option of the user's") {
                try $0.write(
                    "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/vault doors --secret-service --other\n",
                    to: DoorHome.secrets)
            }
        ),
        (DoorHome.secrets, DoorStart("a link in its place") { try $0.link(DoorHome.secrets, to: "/dev/null") }),
        (DoorHome.secrets, DoorStart("a link to nothing") { try $0.link(DoorHome.secrets, to: "nothing") }),
        (DoorHome.secrets, DoorStart("a directory") { try $0.write("x", to: DoorHome.secrets + "/x") }),
        (
            DoorHome.secrets,
            DoorStart("a pipe") {
                try $0.write("", to: DoorHome.services + "x")
                #expect(mkfifo($0.path(DoorHome.secrets), 0o600) == 0)
            }
        ),
        (DoorHome.wallet, DoorStart("settings that are a directory") { try $0.write("x", to: DoorHome.wallet + "/x") }),
        (DoorHome.wallet, DoorStart("settings with zero bytes") { try $0.write("[a]\n\0\n", to: DoorHome.wallet) }),
        (
            DoorHome.wallet,
            DoorStart("settings that are too long") {
                try $0.write(String(repeating: "#\n", count: 1 << 20), to: DoorHome.wallet)
            }
        ),
        (
            DoorHome.wallet,
            DoorStart("a link to settings that say otherwise") {
                try $0.write("[org.freedesktop.secrets]\napiEnabled=true\n", to: "elsewhere/kwalletrc")
                try $0.link(DoorHome.wallet, to: "../elsewhere/kwalletrc")
            }
        ),
        (DoorHome.socket, DoorStart("a unit that is a directory") { try $0.write("x", to: DoorHome.socket + "/x") }),
    ]
}

/// The files that `vault doors enable` and `disable` write, change and restore.
struct DoorSetupTests {
    // MARK: Obstacles

    @Test(arguments: DoorStart.closed.indices)
    func `what is in the way stays, and nothing is changed`(index: Int) throws {
        let (path, start) = DoorStart.closed[index]
        let home = try DoorHome()
        try start.make(home)
        let before = try home.snapshot()
        let ended = ending { try home.enable(.secretService, .portal) }
        #expect(ended?.status == .alreadyExists && ended?.message.contains(path) == true, "\(start): \(ended as Any)")
        #expect(try home.snapshot() == before)
        #expect(!FileManager.default.fileExists(atPath: home.path("state")))
        #expect(try home.disable(.secretService, .portal) == [])
        #expect(try home.snapshot() == before)
    }

    @Test func `a file in the place of a directory is an error, and nothing is changed`() throws {
        let home = try DoorHome()
        try home.write("x", to: "config/systemd")
        let before = try home.snapshot()
        #expect(ending { try home.enable(.secretService) }?.status == .inputOutput)
        #expect(try home.snapshot() == before)
    }

    @Test func `what failed in the middle says how far it came, and a second run does the rest`() throws {
        let home = try DoorHome()
        try home.link("share/dbus-1", to: "not-yet")
        let before = try home.snapshot()
        #expect(ending { try home.enable(.secretService) }?.status == .inputOutput)
        #expect(try home.snapshot()[DoorHome.socket] == "-> /dev/null")
        #expect(!home.setup.isEnabled(.secretService))
        // The partial change can be undone.
        #expect(try home.disable(.secretService).count == 4)
        #expect(try home.snapshot() == before)
        #expect(ending { try home.enable(.secretService) }?.status == .inputOutput)
        try home.write("", to: "share/not-yet/x")
        #expect(try home.enable(.secretService) == ["wrote " + DoorHome.secrets])
        #expect(try home.disable(.secretService).count == 5)
        try home.remove("share/not-yet")
        #expect(try home.snapshot() == before)
    }

    @Test func `a record that cannot be read is an error, and nothing is changed`() throws {
        let home = try DoorHome()
        for content in ["", "{}", "{\"doors\":3}", "\0"] {
            try home.write(content, to: "state/vault/doors/changes.json")
            let before = try home.snapshot()
            #expect(ending { try home.enable(.secretService) }?.status == .inputOutput, "\(content)")
            #expect(ending { try home.disable(.secretService) }?.status == .inputOutput, "\(content)")
            #expect(try home.snapshot() == before)
        }
    }

    // MARK: There and back

    @Test(arguments: DoorStart.open)
    func `what is enabled is enabled once, and taken back byte for byte`(start: DoorStart) throws {
        let home = try DoorHome()
        try start.make(home)
        let before = try home.snapshot()
        #expect(try !home.enable(.secretService, .portal).isEmpty)
        let enabled = try home.snapshot()
        #expect(home.setup.isEnabled(.secretService) && home.setup.isEnabled(.portal))
        #expect(enabled[DoorHome.socket] == "-> /dev/null")
        let wallet = try #require(PathContent.behind(FilePath(home.path(DoorHome.wallet))))
        #expect(wallet.value(of: "apiEnabled", in: "org.freedesktop.secrets") == "false")
        #expect(try home.enable(.secretService, .portal) == [])
        #expect(try home.enable(.portal) == [])
        #expect(try home.snapshot() == enabled)
        try home.disable(.portal)
        try home.disable(.secretService)
        #expect(try home.snapshot() == before)
        #expect(!FileManager.default.fileExists(atPath: home.path("state/vault/doors")))
        #expect(try home.disable(.secretService, .portal) == [])
        #expect(try home.snapshot() == before)
    }

    @Test func `files have the modes that their readers want, and the record is the user's alone`() throws {
        let home = try DoorHome()
        try home.enable(.secretService, .portal)
        let found = try home.snapshot().filter { !$0.value.hasPrefix("directory") && !$0.value.hasPrefix("->") }
        #expect(found.count == 6)
        for (name, content) in found {
            #expect(content.hasPrefix(name == DoorHome.wallet ? "600 " : "644 "), "\(name)")
        }
        let record = try FileManager.default.attributesOfItem(atPath: home.path("state/vault/doors/changes.json"))
        #expect(record[.posixPermissions] as? Int == 0o600)
        for name in ["share", "share/dbus-1/services", "config/systemd/user"] {
            #expect(try home.snapshot()[name] == "directory 700")
        }
    }

    @Test func `the process of one door serves the other as well`() throws {
        let home = try DoorHome()
        try home.enable(.secretService)
        #expect(try home.text(DoorHome.secrets).hasSuffix("' /opt/vault/bin/vault doors --secret-service\n"))
        #expect(try home.enable(.portal).contains("wrote " + DoorHome.secrets))
        let portal = DoorHome.services + "org.freedesktop.impl.portal.desktop.vault.service"
        for file in [DoorHome.secrets, portal] {
            #expect(try home.text(file).contains(" doors --secret-service --portal\n"))
        }
        #expect(try home.disable(.secretService).last == "wrote " + portal)
        #expect(try home.text(portal).hasSuffix("' /opt/vault/bin/vault doors --portal\n"))
        try home.disable(.portal)
        #expect(try home.snapshot().isEmpty)
    }

    @Test func `systemd starts it where it has the unit, which takes both names`() throws {
        let home = try DoorHome()
        try home.link("units/vault-doors.service", to: "/dev/null")
        try home.enable(.portal)
        let portal = DoorHome.services + "org.freedesktop.impl.portal.desktop.vault.service"
        try home.enable(.secretService)
        #expect(try !home.text(DoorHome.secrets).contains("systemctl"))
        try home.remove("units/vault-doors.service")
        try home.write("[Service]\n", to: "units/vault-doors.service")
        #expect(try home.enable(.secretService) == ["wrote " + DoorHome.secrets, "wrote " + portal])
        #expect(try home.text(DoorHome.secrets).contains(" systemctl --user start vault-doors.service && exit;"))
        // If the vault had no claim to the name, the unit would take the name as well.
        try home.disable(.secretService)
        #expect(try !home.text(portal).contains("systemctl"))
    }

    @Test func `for all users there are the files of the bus and the portal, which all can read`() throws {
        let home = try DoorHome(isMachine: true)
        #expect(try home.enable(.secretService) == ["wrote " + DoorHome.secrets])
        #expect(try home.enable(.portal).count == 3)
        let found = try home.snapshot()
        for (name, content) in found {
            #expect(content.hasPrefix("directory 755") || content.hasPrefix("644 "), "\(name)")
        }
        try home.disable(.secretService, .portal)
        #expect(try home.snapshot().isEmpty)
    }

    @Test func `a vault that was moved writes its new place`() throws {
        var home = try DoorHome()
        try home.enable(.secretService)
        home.setup = DoorSetup(places: with(home.setup.places) { $0.command = "/usr/bin/vault" })
        #expect(try home.enable(.secretService) == ["wrote " + DoorHome.secrets])
        #expect(try home.text(DoorHome.secrets).contains("' /usr/bin/vault doors"))
        try home.disable(.secretService)
        #expect(try home.snapshot().isEmpty)
    }

    @Test func `a file of version 0.2 is the vault's, and is replaced`() throws {
        let home = try DoorHome()
        try home.write(
            "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/opt/vault/bin/vault doors --secret-service\n"
                + "SystemdService=vault-doors.service\n", to: DoorHome.secrets)
        #expect(home.setup.isEnabled(.secretService) && home.setup.startsThisCommand(.secretService))
        #expect(try home.enable(.secretService).contains("wrote " + DoorHome.secrets))
        #expect(try home.text(DoorHome.secrets).contains("Exec=/bin/sh -c "))
        try home.disable(.secretService)
        #expect(try home.snapshot().values.allSatisfy { $0.hasPrefix("directory") })
    }

    @Test func `each door starts the command that has enabled it, and no other`() throws {
        var home = try DoorHome()
        for door in Door.all { #expect(!home.setup.startsThisCommand(door)) }
        try home.enable(.secretService, .portal, .browser, .ssh)
        for door in Door.all { #expect(home.setup.startsThisCommand(door), "\(door.name)") }
        home.setup = DoorSetup(places: with(home.setup.places) { $0.command = "/usr/bin/vault" })
        for door in Door.all { #expect(home.setup.isEnabled(door) && !home.setup.startsThisCommand(door)) }
    }

    @Test func `without its record a door's own files go, and those of others stay`() throws {
        let home = try DoorHome()
        try home.enable(.secretService, .portal)
        try home.remove("state")
        let removed = try home.disable(.secretService, .portal)
        #expect(removed.count == 3 && removed.allSatisfy { $0.hasPrefix("removed share/") })
        #expect(try home.snapshot()[DoorHome.socket] == "-> /dev/null")
    }

    @Test func `a new file for the portal says what the one said that it hides`() throws {
        var home = try DoorHome()
        try home.write("[preferred]\ndefault=generic\n", to: "machine/portals.conf")
        try home.write(
            "# GNOME's\n[preferred]\ndefault=gnome;gtk;\norg.freedesktop.impl.portal.Secret=gnome-keyring;\n"
                + "org.freedesktop.impl.portal.Access=gtk\n[other]\nx=y\n", to: "machine/gnome-portals.conf")
        let hidden = ["none.conf", "gnome-portals.conf", "portals.conf"].map { FilePath(home.path("machine/" + $0)) }
        home.setup = DoorSetup(places: with(home.setup.places) { $0.hiddenPortals = hidden })
        try home.enable(.portal)
        #expect(
            try home.text("config/xdg-desktop-portal/portals.conf") == """
                # From \(home.path("machine/gnome-portals.conf")), which this file hides.
                [preferred]
                org.freedesktop.impl.portal.Secret=vault
                default=gnome;gtk;
                org.freedesktop.impl.portal.Access=gtk

                """)
    }

    // MARK: Later changes

    @Test func `a key is taken back from settings that other programs have written since`() throws {
        let home = try DoorHome()
        try home.write("[org.freedesktop.secrets]\napiEnabled=true\n", to: DoorHome.wallet)
        try home.enable(.secretService)
        try home.write(
            "[Wallet]\nEnabled=true\n\n[org.freedesktop.secrets]\nother=1\napiEnabled=false\n", to: DoorHome.wallet)
        let taken = try home.disable(.secretService)
        #expect(taken.contains("restored " + DoorHome.wallet))
        #expect(
            try home.text(DoorHome.wallet)
                == "[Wallet]\nEnabled=true\n\n[org.freedesktop.secrets]\nother=1\napiEnabled=true\n")
    }

    @Test func `a group that was added goes when nothing else is in it`() throws {
        let home = try DoorHome()
        try home.write("[a]\nb=c\n", to: DoorHome.wallet)
        try home.enable(.secretService)
        try home.write(try home.text(DoorHome.wallet) + "\n[d]\ne=f\n", to: DoorHome.wallet)
        try home.disable(.secretService)
        #expect(try home.text(DoorHome.wallet) == "[a]\nb=c\n\n[d]\ne=f\n")
    }

    @Test func `what the user has changed since stays, and what was replaced is not lost`() throws {
        let home = try DoorHome()
        try home.write("[Unit]\nDescription=mine\n", to: DoorHome.socket)
        try home.enable(.secretService)
        try home.write("[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/mine\n", to: DoorHome.secrets)
        try home.write("[org.freedesktop.secrets]\napiEnabled=true\n", to: DoorHome.wallet)
        try home.remove(DoorHome.socket)
        try home.write("[Unit]\nDescription=newer\n", to: DoorHome.socket)
        let before = try home.snapshot()
        let taken = try home.disable(.secretService)
        for name in [DoorHome.secrets, DoorHome.wallet, DoorHome.socket] {
            #expect(taken.contains("kept " + name))
            #expect(try home.snapshot()[name] == before[name])
        }
        let record = try home.text("state/vault/doors/changes.json")
        #expect(record.contains(Data("[Unit]\nDescription=mine\n".utf8).base64EncodedString()))
        // The door is neither reported again nor enabled.
        #expect(try home.disable(.secretService) == [])
        #expect(!home.setup.isEnabled(.secretService))
        #expect(try home.text("state/vault/doors/changes.json") == record)
    }

    @Test func `what the user has removed since is not made again, but what it had replaced is`() throws {
        let home = try DoorHome()
        try home.write("[Unit]\nDescription=mine\n", to: DoorHome.socket)
        let before = try home.snapshot()
        try home.enable(.secretService)
        for name in [DoorHome.secrets, DoorHome.wallet, DoorHome.socket] { try home.remove(name) }
        #expect(try home.disable(.secretService).contains("unmasked " + DoorHome.socket))
        #expect(try home.snapshot() == before)
    }

    @Test func `an edited file for the bus is in the way of the next enabling`() throws {
        let home = try DoorHome()
        try home.enable(.secretService)
        try home.write(try home.text(DoorHome.secrets) + "User=me\n", to: DoorHome.secrets)
        let before = try home.snapshot()
        #expect(ending { try home.enable(.secretService) }?.status == .alreadyExists)
        // The other door can be enabled and disabled independently.
        try home.enable(.portal)
        try home.disable(.portal)
        #expect(try home.snapshot() == before)
    }

    private func with(_ places: DoorPlaces, _ change: (inout DoorPlaces) -> Void) -> DoorPlaces {
        var places = places
        change(&places)
        return places
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport

@testable import VaultCLI

/// The home of a test whose doors are set up in this process.
struct DoorHome {
    let directory: TemporaryDirectory
    var setup: DoorSetup

    static let services = "share/dbus-1/services/"
    static let secrets = services + "org.freedesktop.secrets.service"
    static let wallet = "config/kwalletrc"
    static let firefox = "home/.mozilla/native-messaging-hosts/org.keepassxc.keepassxc_browser.json"
    static let chromium = "config/chromium/NativeMessagingHosts/org.keepassxc.keepassxc_browser.json"
    static let host = "share/vault/vault-browser-host"
    static let socket = "config/systemd/user/gnome-keyring-daemon.socket"

    /// - Parameter isMachine: Whether to use the machine-wide places.
    init(isMachine: Bool = false) throws {
        directory = try TemporaryDirectory()
        let path = directory.path
        setup = DoorSetup(
            places: DoorPlaces(
                data: path.appending("share"), configuration: isMachine ? nil : path.appending("config"),
                home: isMachine ? nil : path.appending("home"),
                record: path.appending("state/vault/doors"), units: [path.appending("units")],
                command: "/opt/vault/bin/vault"))
    }

    func path(_ name: String) -> String { directory.path.string + "/" + name }

    func write(_ text: String, to name: String, mode: Int = 0o644) throws {
        let url = URL(filePath: path(name))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path())
    }

    func link(_ name: String, to target: String) throws {
        let parent = URL(filePath: path(name)).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path(name)) }

    func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    /// Returns the actions as `action path`, relative to the directory.
    @discardableResult
    func enable(_ doors: Door...) throws -> [String] {
        var lines: [String] = []
        try setup.enable(Set(doors)) { lines.append(line($0)) }
        return lines
    }

    @discardableResult
    func disable(_ doors: Door...) throws -> [String] {
        var lines: [String] = []
        try setup.disable(Set(doors)) { lines.append(line($0)) }
        return lines
    }

    private func line(_ action: DoorAction) -> String {
        "\(action.action.rawValue) \(action.path.dropFirst(directory.path.string.count + 1))"
    }

    /// Every file, link and directory except the record's: kind, mode and bytes.
    func snapshot() throws -> [String: String] {
        var found: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path.string)
        where !name.hasPrefix("state") {
            let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
            let mode = String(attributes[.posixPermissions] as? Int ?? 0, radix: 8)
            switch attributes[.type] as? FileAttributeType {
            case .typeSymbolicLink:
                found[name] = "-> " + (try FileManager.default.destinationOfSymbolicLink(atPath: path(name)))
            case .typeDirectory: found[name] = "directory \(mode)"
            case .typeRegular:
                let bytes = try Data(contentsOf: URL(filePath: path(name)))
                found[name] = "\(mode) \(bytes.base64EncodedString())"
            default: found[name] = "special"
            }
        }
        return found
    }
}

/// Returns the exit status and the message with which a command would end.
func ending(_ body: () throws -> Void) -> (status: ExitStatus, message: String)? {
    do {
        try body()
        return nil
    } catch { return CommandLineTool.failure(error).map { ($0.status, $0.message) } }
}

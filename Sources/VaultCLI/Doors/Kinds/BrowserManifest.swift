// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import VaultBrowser

/// The native-messaging manifest that tells a browser which program an extension may call.
struct BrowserManifest: Codable {
    /// The name by which the program is 'vault browser-host': a manifest has a path, but no arguments.
    static let hostName = "vault-browser-host"

    let name: String
    let description: String
    let path: String
    let type: String
    /// The extensions of Firefox.
    var allowedExtensions: [String]?
    /// The origins of Chromium's extensions.
    var allowedOrigins: [String]?

    enum CodingKeys: String, CodingKey {
        case name, description, path, type
        case allowedExtensions = "allowed_extensions"
        case allowedOrigins = "allowed_origins"
    }

    init(_ path: FilePath, isFirefox: Bool) {
        (name, type, self.path) = (NativeHost.name, "stdio", path.string)
        description = "vault for KeePassXC-Browser"
        if isFirefox {
            allowedExtensions = NativeHost.firefoxExtensions
        } else {
            allowedOrigins = NativeHost.chromiumExtensions.map { "chrome-extension://\($0)/" }
        }
    }

    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        // Encoding cannot fail: there is only text.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
    }

    /// Returns whether a vault has written the manifest, wherever its command was.
    static func isOwn(_ text: String) -> Bool {
        guard text.utf8.count < 1 << 16,
            let read = try? JSONDecoder().decode(BrowserManifest.self, from: Data(text.utf8))
        else { return false }
        return read.name == NativeHost.name && read.path.hasSuffix("/" + hostName)
    }
}

extension Door {
    static let browser: Door = Door(
        name: "browser", purpose: "the extension KeePassXC-Browser, by a program that the browser starts",
        effect: """
            the extension KeePassXC-Browser gets logins from the vault, by a file for each browser, which replaces \
            KeePassXC's file until 'disable'.
            """,
        reach: .manifests,
        refusalForAll: ("the browser's door is each user's own", hint: "without --system, as that user"),
        changes: { places, _ in places.browserChanges }, recognizes: { BrowserManifest.isOwn($0) })
}

extension DoorPlaces {
    /// The browsers that run extensions, and the directories in which they look for manifests, relative to their own.
    private static let firefoxes = [".mozilla", ".librewolf", ".waterfox"]
    private static let chromiums = [
        "chromium", "google-chrome", "BraveSoftware/Brave-Browser", "vivaldi", "microsoft-edge",
    ]

    /// A manifest for each browser whose directory exists, and for the two most common ones.
    private var manifests: [DoorChange] {
        let firefoxes = DoorPlaces.firefoxes.compactMap { home?.appending($0) }.filter { isOfUse($0, ".mozilla") }
        let chromiums = DoorPlaces.chromiums.compactMap { configuration?.appending(FilePath($0).components) }
            .filter { isOfUse($0, "chromium") }
        let places =
            firefoxes.map { ($0.appending("native-messaging-hosts"), true) }
            + chromiums.map { ($0.appending("NativeMessagingHosts"), false) }
        return places.map { directory, isFirefox in
            DoorChange(
                path: directory.appending(NativeHost.name + ".json"),
                kind: .manifest(
                    BrowserManifest(hostPath, isFirefox: isFirefox).text, replacing: "KeePassXC's or another one"))
        }
    }

    private func isOfUse(_ directory: FilePath, _ common: String) -> Bool {
        directory.lastComponent?.string == common || FileManager.default.fileExists(atPath: directory.string)
    }

    /// The command under its other name: beside the command, if an installation has put it there, else a link of the
    /// door's own.
    private var hostPath: FilePath { hasInstalledHost ? installedHost : ownHost }

    var installedHost: FilePath { FilePath(command).removingLastComponent().appending(BrowserManifest.hostName) }

    private var hasInstalledHost: Bool { FileManager.default.isExecutableFile(atPath: installedHost.string) }

    var ownHost: FilePath { data.appending("vault").appending(BrowserManifest.hostName) }

    /// The changes for the browsers' door: the program first, so that no manifest refers to a missing one.
    fileprivate var browserChanges: [DoorChange] {
        (hasInstalledHost ? [] : [DoorChange(path: ownHost, kind: .link(to: command))]) + manifests
    }
}

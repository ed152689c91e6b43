// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SystemPackage
internal import VaultDoors

/// The file that tells a browser which program an extension may call (native messaging).
struct BrowserManifest: Codable {
    /// By this name the program is 'vault browser-host': a manifest has a path, and no arguments.
    static let hostName = "vault-browser-host"

    let name: String
    let description: String
    let path: String
    let type: String
    /// Of Firefox.
    var allowedExtensions: [String]?
    /// Of Chromium.
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
        // It has nothing but text.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
    }

    /// Whether what is at a path is a manifest that some vault has written, wherever the command was.
    static func isOwn(_ content: PathContent) -> Bool {
        guard case .file(let bytes, _) = content, bytes.count < 1 << 16,
            let read = try? JSONDecoder().decode(BrowserManifest.self, from: bytes)
        else { return false }
        return read.name == NativeHost.name && read.path.hasSuffix("/" + hostName)
    }
}

extension DoorPlaces {
    /// Browsers that run extensions, and where each looks for manifests below its own directory.
    private static let firefoxes = [".mozilla", ".librewolf", ".waterfox"]
    private static let chromiums = [
        "chromium", "google-chrome", "BraveSoftware/Brave-Browser", "vivaldi", "microsoft-edge",
    ]

    /// A manifest for each browser: for those whose directory is there, and the two that most people have.
    var manifests: [DoorChange] {
        let firefoxes = DoorPlaces.firefoxes.compactMap { home?.appending($0) }.filter { isOfUse($0, ".mozilla") }
        let chromiums = DoorPlaces.chromiums.compactMap { configuration?.appending(FilePath($0).components) }
            .filter { isOfUse($0, "chromium") }
        let places =
            firefoxes.map { ($0.appending("native-messaging-hosts"), true) }
            + chromiums.map { ($0.appending("NativeMessagingHosts"), false) }
        return places.map { directory, isFirefox in
            DoorChange(
                path: directory.appending(NativeHost.name + ".json"),
                kind: .manifest(BrowserManifest(hostPath, isFirefox: isFirefox).text))
        }
    }

    private func isOfUse(_ directory: FilePath, _ common: String) -> Bool {
        directory.lastComponent?.string == common || FileManager.default.fileExists(atPath: directory.string)
    }

    /// The command by its other name: beside it, where an installation has put it, else a link of the door's own.
    private var hostPath: FilePath { hasInstalledHost ? installedHost : ownHost }

    private var installedHost: FilePath {
        FilePath(command).removingLastComponent().appending(BrowserManifest.hostName)
    }

    private var hasInstalledHost: Bool { FileManager.default.isExecutableFile(atPath: installedHost.string) }

    private var ownHost: FilePath { data.appending("vault").appending(BrowserManifest.hostName) }

    /// What the browsers' door wants: the program first, so that no manifest names one that is missing.
    var browserChanges: [DoorChange] {
        (hasInstalledHost ? [] : [DoorChange(path: ownHost, kind: .link(to: command))]) + manifests
    }
}

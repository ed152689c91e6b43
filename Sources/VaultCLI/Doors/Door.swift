// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// A protocol by which the vault serves programs that do not know it.
enum Door: String, CaseIterable, Codable, ExpressibleByArgument {
    case secretService = "secret-service"
    case portal
    case browser
    case ssh

    static let secretServiceName = "org.freedesktop.secrets"
    static let portalName = "org.freedesktop.impl.portal.desktop.vault"

    /// The name on the session bus that its clients call; `nil` for a door that is reached by a socket, or starts a
    /// process of its own.
    var busName: String? {
        switch self {
        case .secretService: Door.secretServiceName
        case .portal: Door.portalName
        case .browser, .ssh: nil
        }
    }

    /// The doors served by 'vault doors'.
    static let onBus = allCases.filter { $0.busName != nil }

    /// The option of 'vault doors' for this door.
    var option: String { "--" + rawValue }

    /// The path, relative to a data directory, of the file by which the bus starts the program.
    var activationFile: String? { busName.map { "dbus-1/services/\($0).service" } }
}

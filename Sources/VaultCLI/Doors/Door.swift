// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// A protocol that 'vault doors' serves.
enum Door: String, CaseIterable, Codable, ExpressibleByArgument {
    case secretService = "secret-service"
    case portal
    case ssh

    /// The name on the session's bus that its clients call; nil: they come by a socket.
    var busName: String? {
        switch self {
        case .secretService: "org.freedesktop.secrets"
        case .portal: "org.freedesktop.impl.portal.desktop.vault"
        case .ssh: nil
        }
    }

    /// The option of 'vault doors' that serves it.
    var option: String { "--" + rawValue }

    /// Where the bus looks for the program that serves it, below a directory for data.
    var activationFile: String? { busName.map { "dbus-1/services/\($0).service" } }
}

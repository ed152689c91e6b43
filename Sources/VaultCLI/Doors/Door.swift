// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// A protocol that 'vault doors' serves.
enum Door: String, CaseIterable, Codable, ExpressibleByArgument {
    case secretService = "secret-service"
    case portal

    /// The name on the session's bus that its clients call.
    var busName: String {
        switch self {
        case .secretService: "org.freedesktop.secrets"
        case .portal: "org.freedesktop.impl.portal.desktop.vault"
        }
    }

    /// The option of 'vault doors' that serves it.
    var option: String { "--" + rawValue }

    /// Where the bus looks for the program that serves it, below a directory for data.
    var activationFile: String { "dbus-1/services/\(busName).service" }
}

// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// A protocol that the vault serves to programs that know nothing of it.
enum Door: String, CaseIterable, Codable, ExpressibleByArgument {
    case secretService = "secret-service"
    case portal
    case browser
    case ssh

    static let secretServiceName = "org.freedesktop.secrets"
    static let portalName = "org.freedesktop.impl.portal.desktop.vault"

    /// The name on the session's bus that its clients call. Nil: it is on no bus; they come by a socket, or start a
    /// process of their own.
    var busName: String? {
        switch self {
        case .secretService: Door.secretServiceName
        case .portal: Door.portalName
        case .browser, .ssh: nil
        }
    }

    /// Those that 'vault doors' serves.
    static let onBus = allCases.filter { $0.busName != nil }

    /// The option of 'vault doors' that serves it.
    var option: String { "--" + rawValue }

    /// Where the bus looks for the program that serves it, below a directory for data.
    var activationFile: String? { busName.map { "dbus-1/services/\($0).service" } }
}

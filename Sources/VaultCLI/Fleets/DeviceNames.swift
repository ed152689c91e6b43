// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultSync

/// The names of the devices, by log. Other devices choose the names, so this type escapes them for a terminal.
struct DeviceNames {
    private let names: [LogID: String]

    init(_ names: [LogID: String] = [:]) { self.names = names }

    init(_ fleet: Fleet) { names = (try? fleet.deviceNames()) ?? [:] }

    /// Returns the device's name; `nil` for an unknown device, or without a log.
    func name(of log: LogID?) -> String? { log.flatMap { names[$0] } }

    func phrase(of log: LogID) -> String { names[log].map { "'\($0.printable)'" } ?? "an unknown device" }
}

// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultSync

/// Whose a log is, as people call the device. Names are others' choice, and made fit for a terminal here.
struct DeviceNames {
    private let names: [LogID: String]

    init(_ names: [LogID: String] = [:]) { self.names = names }

    init(_ fleet: Fleet) { names = (try? fleet.deviceNames()) ?? [:] }

    /// Nil: of a device that is not known yet, or of none.
    func name(of log: LogID?) -> String? { log.flatMap { names[$0] } }

    func phrase(of log: LogID) -> String {
        names[log].map { "'\($0.printable)'" } ?? "a device that is not known here"
    }
}

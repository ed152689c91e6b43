// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// A device's memory of one remote.
package struct RemoteState: Equatable, Sendable {
    /// The last record of each stream that the remote has shown.
    package var seen: [RecordStream: UInt64] = [:]
    /// The number of the last entry of the own log ``log`` that the remote has.
    package var acknowledged: UInt64 = 0
    package var log: LogID?
    package var lastSync: UInt64 = 0
    /// Whether the remote has shown this device's removal. Stored separately from the encoded state.
    package var saysRemoved = false

    package init() {}
}

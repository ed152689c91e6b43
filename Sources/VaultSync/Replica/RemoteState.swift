// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// What a device remembers of one remote.
package struct RemoteState: Equatable, Sendable {
    /// The last records that it has shown.
    package var seen: [RecordStream: UInt64] = [:]
    /// The last own entry that it has, of this log.
    package var acknowledged: UInt64 = 0
    package var log: LogID?
    package var lastSync: UInt64 = 0
    /// Whether it showed that this device was removed; kept beside.
    package var saysRemoved = false

    package init() {}
}

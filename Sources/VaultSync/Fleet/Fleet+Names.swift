// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

extension Fleet {
    /// Returns the names of the devices whose logs are known, including removed devices.
    ///
    /// - Throws: `.notJoined`
    package func deviceNames() throws(SyncError) -> [LogID: String] {
        let replica = try replica(membership())
        var names: [LogID: String] = [:]
        for (log, known) in replica.state.logs {
            names[log] = known.device.flatMap { replica.roster.known[$0]?.name }
        }
        names[replica.state.log] = replica.roster.known[replica.deviceID]?.name
        return names
    }
}

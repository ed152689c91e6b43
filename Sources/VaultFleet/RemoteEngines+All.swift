// SPDX-License-Identifier: Apache-2.0
package import VaultStorage
package import VaultSync
internal import VaultSyncEtcd
internal import VaultSyncPostgres

extension RemoteEngines {
    /// Returns all engines. Some keep connections open, so a process with several syncs keeps this value.
    package static func all(_ environment: VaultEnvironment) -> RemoteEngines {
        RemoteEngines([
            .file: FolderEngine(environment), .ssh: SSHEngine(), .postgres: PostgresEngine(), .etcd: EtcdEngine(),
        ])
    }
}

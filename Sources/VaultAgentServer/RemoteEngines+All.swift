// SPDX-License-Identifier: Apache-2.0
package import VaultStorage
package import VaultSync
internal import VaultSyncEtcd
internal import VaultSyncPostgres

extension RemoteEngines {
    /// Those that a vault can be synced by. Some keep a connection open: a process that syncs more than once keeps this
    /// value.
    package static func all(_ environment: VaultEnvironment) -> RemoteEngines {
        RemoteEngines([
            .file: FolderEngine(environment), .ssh: SSHEngine(), .postgres: PostgresEngine(), .etcd: EtcdEngine(),
        ])
    }
}
